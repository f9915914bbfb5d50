"""What is loaded while watched: the ledger, and what is told of it."""

import copy

import pytest
import torch
from peft import (
    PromptTuningConfig,
    get_peft_model,
    get_peft_model_state_dict,
    set_peft_model_state_dict,
)

from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from tests.probes.recording import Recording


def heard(model, act, optimizer=None):
    """Do something after an update; return the loads in the ledger."""
    optimizer = optimizer or adamw(model)
    with Recording(model, optimizer) as recording:
        model(**batches()[0]).loss.backward()
        optimizer.step()
        act(model)
    return [(e.target, dict(e.detail)) for e in recording.ledger(0) if e.op == "load"]


def adapter_of(model):
    return {k: v for k, v in model.state_dict().items() if "lora_" in k}


def test_a_load_is_told_once_with_what_was_read():
    state = copy.deepcopy(adapter_of(lora()))
    ((target, detail),) = heard(
        lora(), lambda model: model.load_state_dict(state, strict=False)
    )
    assert target == "model"
    assert (detail["keys"], detail["matched"], detail["of"]) == (8, 8, 8)
    assert (detail["aliased"], "lost" in detail) == (0, False)


def test_peft_s_load_is_one_load_of_an_adapter():
    tensors = get_peft_model_state_dict(lora())
    ((_, detail),) = heard(lora(), lambda m: set_peft_model_state_dict(m, tensors))
    assert (detail["adapter"], detail["keys"]) == ("default", 8)
    assert detail["matched"] == 8


def test_a_file_without_names_is_lost_in_a_plain_load():
    tensors = get_peft_model_state_dict(lora())
    ((_, detail),) = heard(lora(), lambda m: m.load_state_dict(tensors, strict=False))
    assert (detail["lost"], detail["reason"]) == (8, "adapter-name")


def test_a_prefix_is_lost_in_peft_s_load():
    tensors = {f"net.{k}": v for k, v in get_peft_model_state_dict(lora()).items()}
    ((_, detail),) = heard(lora(), lambda m: set_peft_model_state_dict(m, tensors))
    assert (detail["lost"], detail["reason"]) == (8, "prefix")


def test_another_rank_is_left_out():
    tensors = get_peft_model_state_dict(lora(r=4))
    ((_, detail),) = heard(
        lora(),
        lambda m: set_peft_model_state_dict(m, tensors, ignore_mismatched_sizes=True),
    )
    assert len(detail["misshapen"]) == 8


def test_the_bare_model_s_keys_are_those_before_peft():
    state = copy.deepcopy(llama().state_dict())
    ((_, detail),) = heard(lora(), lambda m: m.load_state_dict(state, strict=False))
    assert (detail["lost"], detail["reason"]) == (21, "wrapped-twice")


def test_a_prompt_is_not_judged():
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = get_peft_model(llama(), config)
    tensors = get_peft_model_state_dict(model)
    ((_, detail),) = heard(model, lambda m: set_peft_model_state_dict(m, tensors))
    assert "lost" not in detail


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_state_dict_is_old_when_an_update_came_in_between(when):
    model = lora()
    own = adapter_of(model)
    ((_, detail),) = heard(
        model,
        lambda m: m.load_state_dict(
            own if when == "before" else adapter_of(m), strict=False
        ),
    )
    assert detail["aliased"] == 8
    assert detail["fresh"] is (when == "after")


def test_what_was_filled_in_place_is_no_old_state():
    model = lora()
    own = adapter_of(model)

    def fill(m):
        for value in own.values():
            value.zero_()
        m.load_state_dict(own, strict=False)

    ((_, detail),) = heard(model, fill)
    assert detail["fresh"] is True


def test_an_optimizers_load_tells_how_it_fits():
    model = lora()
    optimizer = adamw(model)

    def again(_):
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))

    ((target, detail),) = heard(model, again, optimizer)
    assert target == "optimizer 0"
    assert (detail["states"], detail["swapped"]) == (8, {})


def test_other_models_and_optimizers_are_not_ours():
    other = torch.nn.Linear(2, 2)
    theirs = torch.optim.SGD(other.parameters(), lr=0.1)

    def elsewhere(_):
        other.load_state_dict(other.state_dict())
        theirs.load_state_dict(theirs.state_dict())

    assert heard(lora(), elsewhere) == []


def test_a_load_that_raises_is_the_users(recwarn):
    def fail(model):
        with pytest.raises(RuntimeError, match="Unexpected key"):
            model.load_state_dict({"nothing": torch.ones(1)})

    assert heard(lora(), fail) == []
    assert not [each for each in recwarn if "ftlab" in str(each.message)]


def test_an_adapter_that_is_loaded_from_a_folder_is_heard_too(tmp_path):
    lora().save_pretrained(tmp_path)
    model = lora()
    loads = heard(model, lambda m: m.load_adapter(tmp_path, "second"))
    assert [detail["adapter"] for _, detail in loads] == ["second"]
    assert loads[0][1]["matched"] == 8


def test_loads_change_nothing_else():
    model, plain = lora(), lora()
    state = copy.deepcopy(lora(seed=4).state_dict())
    heard(model, lambda m: m.load_state_dict(state))
    plain.load_state_dict(state)
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, other)


METHODS = {
    "dora": {"use_dora": True},
    "kept head": {"modules_to_save": ["lm_head"]},
    "tokens": {"trainable_token_indices": [3, 4]},
    "embeddings": {"target_modules": ["q_proj", "embed_tokens"]},
    "pissa": {"init_lora_weights": "pissa"},
}


@pytest.mark.parametrize("settings", METHODS.values(), ids=METHODS)
def test_what_peft_saves_it_reads_again(settings, tmp_path):
    model = lora(**settings)
    model.save_pretrained(tmp_path)

    def load(model):
        model.load_adapter(tmp_path, "default", is_trainable=True)
        model.load_adapter(tmp_path, "second")
        model.load_state_dict(copy.deepcopy(model.state_dict()))

    for _, detail in heard(model, load):
        assert detail["matched"] == detail["keys"]
        assert "lost" not in detail


@pytest.mark.parametrize(("alpha", "off"), [(16, False), (64, True)])
def test_settings_that_a_load_leaves_alone_are_compared(alpha, off, tmp_path):
    lora(lora_alpha=alpha).save_pretrained(tmp_path)
    loads = heard(lora(), lambda model: model.load_adapter(tmp_path, "default"))
    found = [detail for target, detail in loads if target == "adapter settings"]
    assert bool(found) is off
    if found:
        assert set(map(tuple, found[0]["scaling"].values())) == {(8.0, 2.0)}


def test_a_new_adapter_takes_the_folders_settings(tmp_path):
    lora(lora_alpha=64).save_pretrained(tmp_path)
    loads = heard(lora(), lambda model: model.load_adapter(tmp_path, "second"))
    assert [target for target, _ in loads] == ["model"]
