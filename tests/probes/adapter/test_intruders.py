"""Directions that the base has not, against whole singular value decompositions."""

from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

import ftlab
from ftlab.faults.builders.tiny import batches, gpt2, llama, lora
from ftlab.probes.adapter import intruders as counting
from ftlab.probes.adapter.intruders import LIKE, TOP, intruders
from ftlab.probes.adapter.lora_pairs import lora_pairs
from ftlab.records.errors import BadValueError
from tests.laboratory.test_anatomy import noisy


def counted(base: torch.Tensor, update: torch.Tensor) -> int:
    """Count with two whole decompositions."""
    theirs = torch.linalg.svd(base.double()).U
    mine = torch.linalg.svd(base.double() + update.double()).U[:, :TOP]
    return int(((theirs.T @ mine).abs().amax(0) < LIKE).sum())


def pair_of(model: Any, name: str) -> Any:
    return next(pair for pair in lora_pairs(model) if pair.module.endswith(name))


@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("build", [llama, gpt2])
def test_the_count_is_that_of_whole_decompositions(build: Any, scale: float) -> None:
    names = ["q_proj", "down_proj"] if build is llama else ["c_attn", "c_proj"]
    config = LoraConfig(target_modules=names, fan_in_fan_out=build is gpt2)
    model = noisy(get_peft_model(build(), config), scale)
    found = []
    for pair in lora_pairs(model):
        turned = build is gpt2
        update = pair.layer.get_delta_weight("default").detach()
        base = pair.base.weight.detach()
        whole = counted(base.T, update.T) if turned else counted(base, update)
        assert intruders(pair) == whole
        found.append(whole)
    assert max(found) > 0 if scale == 1 else True


def test_a_fresh_adapter_has_none_and_a_strong_one_has_as_many_as_its_rank() -> None:
    model = lora()
    pair = pair_of(model, "q_proj")
    assert intruders(pair) == 0
    noisy(model, 3.0)
    assert intruders(pair_of(model, "q_proj")) == 8


def test_a_larger_base_is_held_against_its_largest_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = noisy(lora(), 1.0)
    pair = pair_of(model, "q_proj")
    whole = intruders(pair)
    monkeypatch.setattr(counting, "WHOLE", 16)
    monkeypatch.setattr(counting, "LARGEST", 40)
    cut = intruders(pair)
    assert whole is not None
    assert cut is not None
    assert cut >= whole > 0


def test_as_many_layers_as_asked_for_are_looked_at() -> None:
    model = noisy(lora(target_modules="all-linear"), 1.0)
    view = ftlab.adapters(model, directions=3)
    looked = [each for each in view.anatomy.layers if each.intruders >= 0]
    assert len(looked) == 3
    assert looked[0].place.startswith("layers.0")
    assert looked[-1].place.startswith("layers.1")
    assert "of 3 layers looked at" in repr(view)
    assert all(each.intruders < 0 for each in ftlab.adapters(model).anatomy.layers)


@pytest.mark.parametrize("given", [-1, True, 2.5])
def test_what_is_no_number_of_layers_is_refused(given: Any) -> None:
    with pytest.raises(BadValueError, match="directions=8"):
        ftlab.adapters(lora(), directions=given)


@pytest.mark.parametrize("whole", [2048, 16])
def test_a_fresh_adapter_has_none_on_a_base_of_many_alike_directions(
    monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    monkeypatch.setattr(counting, "WHOLE", whole)
    monkeypatch.setattr(counting, "LARGEST", 64)
    torch.manual_seed(0)
    base = torch.nn.Sequential(torch.nn.Linear(300, 512, bias=False))
    model = get_peft_model(base, LoraConfig(target_modules=["0"]))
    (pair,) = lora_pairs(model)
    assert intruders(pair) == 0


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0])
def test_a_later_count_is_nearly_that_of_whole_decompositions(scale: float) -> None:
    model = noisy(lora(llama(hidden_size=96)), scale)
    for pair in lora_pairs(model):
        base = counting.base_of(pair)
        assert base is not None
        theirs = counting.known_directions(base)
        again = counting.counted_again(pair, theirs)
        assert again == pytest.approx(intruders(pair), abs=1)


def test_a_run_counts_them_where_it_is_asked_to() -> None:
    model = lora()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    asked = {"directions": 2, "budget": None}
    with ftlab.watch(model, optimizer, **asked) as watch:
        for step in range(65):
            if step == 64:
                whole = [intruders(pair) for pair in lora_pairs(model)]
            model(**batches()[step % 4]).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    found = watch.run.matrix("intruders", "directions").measured()
    assert found.steps.tolist() == [0, 64]
    names = [watch.run.names("directions")[int(each)].name for each in found.ids]
    ends = (
        "layers.0.self_attn.q_proj [default]",
        "layers.1.self_attn.v_proj [default]",
    )
    assert all(name.endswith(end) for name, end in zip(names, ends, strict=True))
    assert found.values[0].tolist() == [0, 0]
    ends = [whole[0], whole[-1]]
    assert found.values[1].tolist() == pytest.approx(ends, abs=1)
    assert max(ends) > 1


@pytest.mark.parametrize("directions", [-1, 1.5, True])
def test_a_number_of_layers_is_asked_for(directions: Any) -> None:
    with pytest.raises(BadValueError, match="directions="):
        ftlab.watch(lora(), directions=directions)
