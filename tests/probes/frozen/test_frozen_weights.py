"""Frozen weights are compared with what they were, and only what changed is a row."""

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, base, batches, lora
from ftlab.probes.frozen.frozen_weights import FrozenWeights
from ftlab.records.step import Block
from tests.models import tiny_4bit
from tests.probes.recording import Recording


def rows(recording, column, step):
    """Return a column of table ``frozen`` at a step, by weight."""
    names = recording.names
    return {
        names[row].name: value
        for block in recording.records
        if isinstance(block, Block) and (block.table, block.step) == ("frozen", step)
        for row, value in zip(
            block.ids.tolist(), block.values[column].tolist(), strict=True
        )
    }


def watched(model, steps, act=id, lr=1e-2):
    optimizer = adamw(model, lr=lr)
    with Recording(model, optimizer, probes=[FrozenWeights()]) as recording:
        for step in range(steps):
            optimizer.zero_grad()
            model(**batches()[step]).loss.backward()
            optimizer.step()
            act(step)
    return recording


def bases(model):
    return {n: p for n, p in model.named_parameters() if "base_layer" in n}


def test_what_stays_as_it_is_has_no_row():
    recording = watched(lora(), 3)
    assert not [each for each in recording.records if isinstance(each, Block)]
    assert recording.steps[0].values["frozen_changed"] == 0
    assert recording.steps[0].values["frozen_compared"] > 0


def test_a_merge_cycle_is_compared_in_its_step():
    model = lora(base().to(torch.bfloat16))
    before = {name: weight.float() for name, weight in bases(model).items()}

    def cycle(step):
        model.merge_adapter()
        model.unmerge_adapter()

    recording = watched(model, 2, cycle)
    assert set(rows(recording, "delta_max", 1)) == set(before)
    assert set(rows(recording, "cycles", 0).values()) == {1}
    assert set(rows(recording, "cycles", 1).values()) == {2}
    for name, largest in rows(recording, "delta_max", 1).items():
        true = (bases(model)[name].float() - before[name]).abs().max()
        assert 0 < largest <= true


def test_what_is_merged_at_the_time_is_left_out():
    model = lora(modules_to_save=["lm_head"])
    recording = watched(model, 3, lambda step: step == 0 and model.merge_adapter())
    assert not [each for each in recording.records if isinstance(each, Block)]


def test_a_weight_that_is_held_and_has_a_gradient_says_so():
    model = base()
    weight = model.model.norm.weight
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[FrozenWeights()]) as recording:
        for step in range(4):
            optimizer.zero_grad(set_to_none=False)
            model(**batches()[step]).loss.backward()
            if step == 1:
                weight.requires_grad_(False)
            optimizer.step()
    (name,) = [n for n in recording.names.values() if n.table == "frozen"]
    assert name.name == "model.norm.weight"
    assert (name.meta["group"], name.meta["has_grad"]) == (0, True)


def test_names_are_known_at_the_step_that_they_are_of():
    model = lora()
    weight = next(iter(bases(model).values()))
    recording = watched(model, 3, lambda step: step == 1 and weight.data.add_(0.1))
    (name,) = [n for n in recording.names.values() if n.table == "frozen"]
    assert name.since_step == 2
    assert rows(recording, "delta_max", 2)[name.name] == pytest.approx(0.1, rel=1e-3)


def test_a_4bit_base_is_compared_without_touching_it(tmp_path):
    model = lora(tiny_4bit(tmp_path))
    weights = [m.weight for m in model.modules() if hasattr(m, "quant_state")]
    before = [weight.data.clone() for weight in weights]
    recording = watched(model, 3)
    assert recording.steps[0].values["frozen_compared"] >= len(weights)
    assert recording.steps[0].values["frozen_changed"] == 0
    assert all(torch.equal(a, b.data) for a, b in zip(before, weights, strict=True))


def test_merge_cycles_of_a_4bit_base_change_its_bytes(tmp_path):
    model = lora(tiny_4bit(tmp_path))

    def cycle(step):
        model.merge_adapter()
        model.unmerge_adapter()

    recording = watched(model, 2, cycle, lr=0.1)
    changed = [n for n in recording.names.values() if n.table == "frozen"]
    assert changed
    assert all(name.meta["quantized"] for name in changed)


def test_what_torch_does_not_count_is_found_in_its_turn():
    model = lora()
    weight = model.get_submodule("base_model.model.model.norm").weight
    recording = watched(model, 8, lambda step: step == 6 and weight.data.add_(0.1))
    (found,) = rows(recording, "delta_max", 7).values()
    assert found == pytest.approx(0.1, rel=1e-3)
