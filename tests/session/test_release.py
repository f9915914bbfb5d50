"""`ftlab.release`: what is freed, and who still holds on."""

import gc
import sys
import weakref

import pytest
import torch

import ftlab
from ftlab.probes.holding.heap import bytes_in_use
from ftlab.records.errors import ReleasedError
from tests.laboratory.memory.models import base, in_four_bits
from tests.models import batches, tiny_llama, tiny_lora

HELD = {}
"""A name of a user's module."""


@pytest.fixture
def named():
    yield HELD
    HELD.clear()
    gc.collect()


def trained(model):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    model(**next(batches(1))).loss.backward()
    optimizer.step()
    return optimizer


def large():
    return tiny_llama(hidden_size=512, intermediate_size=2048)


def test_frees_weights_gradients_and_state():
    model = large()
    optimizer = trained(model)
    release = ftlab.release  # imports what it needs
    gc.collect()
    before = bytes_in_use()
    found = release(model).released
    assert found.freed == found.bytes
    assert found.held == ()
    assert before - bytes_in_use() > 0.98 * found.bytes
    assert found.before - found.after > 0.95 * found.bytes
    assert not optimizer.state
    assert optimizer.param_groups[0]["params"] == []


def test_says_who_still_holds_what(named):
    model = tiny_llama()
    named["best"] = model.state_dict()
    head = named["best"]["lm_head.weight"].clone()
    view = ftlab.release(model)
    assert view.released.freed < view.released.bytes
    assert {e.path.rpartition("[")[0] for e in view.released.held} == {
        f"{__name__}.HELD['best']"
    }
    assert "still held by" in str(view)
    assert len(view.table()) == len(named["best"])
    assert torch.equal(named["best"]["lm_head.weight"], head)  # theirs stays


def test_cannot_be_used_any_more():
    model = tiny_lora()
    inner = model.base_model.model
    assert "PeftModelForCausalLM released" in str(ftlab.release(model))
    for each in (model, inner, inner.lm_head):
        with pytest.raises(ReleasedError, match="build or load it again"):
            each(**next(batches(1)))


def test_is_not_saved_or_watched(tmp_path):
    model = tiny_llama()
    part = model.model.layers[0]
    ftlab.release(part)
    for use in (ftlab.watch, lambda each: ftlab.safe_save(each, tmp_path / "safe")):
        for each in (part, model):
            with pytest.raises(ReleasedError, match="build or load it again"):
                use(each)
    assert not (tmp_path / "safe").exists()


def test_a_weight_that_another_model_has_stays_whole(named):
    model, other = tiny_llama(), tiny_llama()
    other.lm_head.weight = model.lm_head.weight
    named["other"], optimizer = other, trained(other)
    values = other.lm_head.weight.detach().clone()
    found = ftlab.release(model).released
    assert torch.equal(other.lm_head.weight, values)
    assert {each.name for each in found.held} == {"lm_head.weight"}
    assert found.freed == found.bytes - found.held[0].bytes
    assert other.lm_head.weight.grad.abs().sum()
    assert len(optimizer.param_groups[0]["params"]) == len(list(other.parameters()))
    assert optimizer.state[other.lm_head.weight]
    assert model.lm_head.weight.shape == (0,)
    assert trained(other)


def test_parameters_in_a_list_stay_whole(named):
    model = tiny_llama()
    optimizer = trained(model)
    named["all"] = list(model.parameters())
    shapes = [each.shape for each in named["all"]]
    found = ftlab.release(model).released
    assert [each.shape for each in named["all"]] == shapes
    assert {each.path.rpartition("[")[0] for each in found.held} == {
        f"{__name__}.HELD['all']"
    }
    assert not optimizer.state
    assert named["all"][0].grad is None


def test_groups_and_a_modules_own_lists_hold_nothing(named):
    model = torch.nn.LSTM(8, 8)  # it lists its weights beside
    named["groups"] = [{"params": list(model.parameters())}]
    optimizer = torch.optim.AdamW(named["groups"])
    model(torch.ones(2, 8))[0].sum().backward()
    optimizer.step()
    found = ftlab.release(model).released
    assert found.freed == found.bytes


def test_hooks_go_and_what_they_hold():
    class Big:
        pass

    big, model = Big(), tiny_llama()
    there = weakref.ref(big)
    model.model.layers[0].register_forward_hook(lambda *_, kept=big: kept and None)
    del big
    view = ftlab.release(model)
    assert there() is None
    assert "hooks: 1" in str(view)


def test_values_of_cells_are_forgotten(monkeypatch):
    main = sys.modules["__main__"]
    model = tiny_llama()
    out = {3: model, 4: [model.lm_head], 5: "text"}
    for name, value in {"Out": out, "_oh": out, "_3": model, "_": model}.items():
        monkeypatch.setattr(main, name, value, raising=False)
    view = ftlab.release(model)
    assert out == {5: "text"}
    assert main._ == ""
    assert main._3 == ""
    assert "values of cells (Out, _): 2" in str(view)


def test_weights_of_few_bits_go_with_their_scales(tmp_path):
    base("llama").save_pretrained(tmp_path)
    model = in_four_bits(tmp_path)
    found = ftlab.release(model).released
    assert found.freed == found.bytes


def test_a_watched_model_is_refused(tmp_path):
    model = tiny_llama()
    optimizer = torch.optim.AdamW(model.parameters())
    with (
        ftlab.watch(model, optimizer, run_dir=tmp_path / "run"),
        pytest.raises(ValueError, match=r"call detach\(\)"),
    ):
        ftlab.release(model)


def test_something_else_is_refused():
    with pytest.raises(ValueError, match="must be a torch"):
        ftlab.release([1])
