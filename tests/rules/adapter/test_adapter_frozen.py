"""ADP010."""

import warnings

import pytest

from ftlab.faults.builders.tiny import llama, lora, lora_config
from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_frozen import AdapterFrozen
from tests.runs import RunBuilder, found_by, only, places
from tests.versions import older_than
from tests.wired import OPTIMIZER, findings


def check(model, **settings):
    return findings(AdapterFrozen(), model, **settings)


def freeze(model, match):
    for name, parameter in model.named_parameters():
        if match(name):
            parameter.requires_grad_(False)
    return model


def test_is_quiet_on_a_healthy_adapter():
    assert check(lora()) == ()
    assert check(lora(modules_to_save=["lm_head"], use_dora=True)) == ()


def test_all_frozen_afterwards_is_an_error():
    finding = only(check(freeze(lora(), lambda _: True)), "error")
    assert finding.evidence["reason"] == "frozen-afterwards"
    assert "all 8 tensors" in finding.message
    assert "lora_" in finding.fix
    assert "kbit" not in finding.fix
    assert places(finding)[0].endswith("0.self_attn.q_proj.lora_B.default.weight")
    assert places(finding)[-1] == "call requires_grad_"


def test_inference_mode_of_a_fresh_adapter_is_told():
    finding = only(check(lora(inference_mode=True)), place="config inference_mode")
    assert finding.evidence["reason"] == "inference-mode"


def test_a_loaded_adapter_is_told_by_its_b(tmp_path):
    from peft import PeftModel

    trained = lora(init_lora_weights=False)
    trained.save_pretrained(tmp_path)
    frozen = PeftModel.from_pretrained(llama(), tmp_path)
    finding = only(check(frozen), reason="loaded-frozen")
    assert places(finding)[:2] == ["call from_pretrained", "config inference_mode"]
    assert "is_trainable=True" in finding.fix
    assert check(PeftModel.from_pretrained(llama(), tmp_path, is_trainable=True)) == ()


def test_a_head_that_learns_makes_it_less_and_a_loaded_adapter_a_choice(tmp_path):
    from peft import PeftModel

    model = freeze(lora(), lambda _: True)
    model.base_model.model.lm_head.weight.requires_grad_(True)
    assert [f.severity for f in check(model)] == [Severity.WARNING]
    lora(init_lora_weights=False).save_pretrained(tmp_path)
    loaded = PeftModel.from_pretrained(llama(), tmp_path)
    loaded.base_model.model.lm_head.weight.requires_grad_(True)
    assert [f.severity for f in check(loaded)] == [Severity.INFO]


def holding(model, text):
    """Describe an optimizer that holds the parameters with ``text`` in their name."""
    names = [name for name, _ in model.named_parameters() if text in name]
    return (OPTIMIZER | {"groups": [{"names": names}]},)


@pytest.mark.parametrize(
    ("first", "later"), [("modules_to_save", "lora_"), ("lora_", "modules_to_save")]
)
def test_what_the_optimizer_holds_waits_for_its_turn(first, later):
    model = freeze(lora(modules_to_save=["lm_head"]), lambda name: first not in name)
    waiting = check(model, optimizers=holding(model, later))
    assert [finding.severity for finding in waiting] == [Severity.INFO]
    forgotten = check(model, optimizers=holding(model, first))
    assert [finding.severity for finding in forgotten] == [Severity.WARNING]


def test_a_model_that_is_only_used_is_left_alone():
    assert check(lora(inference_mode=True).eval(), optimizers=()) == ()
    trained = lora(init_lora_weights=False, inference_mode=True)
    assert check(trained, optimizers=()) == ()


def test_a_fresh_adapter_in_training_mode_is_meant_to_learn():
    only(check(lora(inference_mode=True), optimizers=()), reason="inference-mode")


def test_one_of_two_adapters_may_be_frozen():
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    assert check(model) == ()


def test_lora_fa_freezes_every_a():
    assert check(freeze(lora(), lambda name: "lora_A" in name)) == ()


def test_frozen_pairs_among_others_may_be_meant():
    finding = only(check(freeze(lora(), lambda name: ".layers.0." in name)), "info")
    assert "add nothing" in finding.message
    assert finding.evidence["frozen_pairs"] == 2
    assert finding.evidence["pairs"] == 4
    assert all(".layers.0." in name and "lora_B" in name for name in places(finding))


def test_frozen_pairs_that_are_not_zero_are_only_noted():
    model = lora(init_lora_weights=False)
    only(check(freeze(model, lambda name: ".layers.0." in name)), "info")


def test_frozen_copies_of_kept_modules_are_found():
    model = lora(modules_to_save=["lm_head"])
    (finding,) = check(freeze(model, lambda name: "lora_" not in name))
    assert finding.evidence["reason"] == "modules-to-save"
    assert finding.place.name.endswith("lm_head.modules_to_save.default.weight")


@pytest.mark.parametrize("kind", ["IA3", "PROMPT"])
def test_other_methods_are_judged_by_their_own_parts(kind):
    from peft import IA3Config, PromptTuningConfig, get_peft_model

    config = (
        IA3Config(target_modules=["k_proj"], feedforward_modules=[])
        if kind == "IA3"
        else PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    )
    model = get_peft_model(llama(), config)
    assert check(model) == ()
    only(check(freeze(model, lambda _: True)), "error")


def test_x_lora_trains_a_gate_over_frozen_adapters():
    run = RunBuilder()
    part = {"lora_B": {"tensors": 1, "trainable": 0, "frozen": {"names": ["b"]}}}
    adapters = {"0": {"type": "XLORA", "parts": part}}
    run.facts(model={"adapters": {"adapters": adapters}}, optimizers=({},))
    assert found_by(AdapterFrozen(), run.run) == ()


def test_does_not_apply_without_adapters():
    assert check(llama()) == ()


def test_frozen_magnitudes_of_dora_are_found():
    model = freeze(lora(use_dora=True), lambda name: "magnitude" in name)
    finding = only(check(model), reason="magnitude")
    assert str(finding.places[-1]) == "config use_dora"


def left_off():
    model = lora(modules_to_save=["lm_head"])
    model.add_adapter("other", lora_config(model.get_base_model()))
    model.set_adapter("other")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.delete_adapter("other")
    return model


@pytest.mark.skipif(
    older_than("peft", "0.19"), reason="PEFT 0.18 switches the module off as a whole"
)
def test_a_copy_that_deleting_left_off_is_told_with_the_call_that_mends_it():
    finding = only(check(left_off()), reason="copy-left-off")
    assert "model.set_adapter('default')" in finding.fix
    assert "call delete_adapter" in places(finding)


def test_a_copy_is_quiet_once_the_adapter_was_set_again():
    model = left_off()
    model.set_adapter("default")
    assert check(model) == ()


def test_the_copy_of_an_adapter_that_waits_for_its_turn_is_left_alone():
    model = lora(modules_to_save=["lm_head"])
    model.add_adapter("other", lora_config(model.get_base_model()))
    model.set_adapter("other")
    assert check(model) == ()


TARGETS = ["embed_tokens", "q_proj", "v_proj"]


def embedding(name):
    return "lora_embedding" in name


def test_the_pair_of_an_embedding_that_a_sweep_leaves_out_is_found():
    finding = only(check(freeze(lora(target_modules=TARGETS), embedding)), "warning")
    assert finding.evidence["reason"] == "embedding-pairs"
    assert [p.rpartition("embed_tokens.")[2] for p in places(finding)[:2]] == [
        "lora_embedding_A.default",
        "lora_embedding_B.default",
    ]
    assert "config target_modules" in places(finding)


def test_the_pair_of_an_embedding_that_was_trained_once_may_stay_as_it_is():
    model = lora(target_modules=TARGETS, init_lora_weights=False)
    assert check(freeze(model, embedding)) == ()


def test_the_pair_of_an_embedding_is_left_alone_where_others_are_frozen_too():
    model = lora(target_modules=TARGETS)
    (finding,) = check(freeze(model, lambda n: embedding(n) or ".layers.0." in n))
    assert finding.evidence["reason"] == "some-pairs"


def test_the_pair_of_an_embedding_that_an_optimizer_holds_is_only_noted():
    model = freeze(lora(target_modules=TARGETS), embedding)
    only(check(model, optimizers=holding(model, "lora_")), "info")
