"""What adapters of any method put out first, and whether they are as drawn."""

import math

import pytest
import torch

from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.tiny import adamw, batches, llama
from ftlab.probes.adapter.drawn_starts import DrawnStarts
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.step import Block
from tests.models import update


def first(model, steps=1):
    """Return the columns of the one block that was recorded."""
    optimizer = adamw(model)
    records = []
    with Recorder(Subject(model, [optimizer]), [DrawnStarts()], records.append):
        for batch in batches(steps):
            update(model(**batch).loss, optimizer)
    (block,) = [each for each in records if isinstance(each, Block)]
    assert block.step == 0
    return block.values


def train(model, steps=10):
    optimizer = adamw(model)
    for batch in batches(steps, seed=1):
        update(model(**batch).loss, optimizer)


def test_a_fresh_adapter_gives_what_its_base_gives():
    assert first(tuned("LoKrConfig", llama(), r=4), 2)["off_start"].max() < 1e-6


def test_the_distance_is_that_of_the_layers_output():
    model = tuned("LoKrConfig", llama(), r=4, init_weights=False)
    layer = next(m for m in model.modules() if hasattr(m, "lokr_w1"))
    seen = []
    handle = layer.register_forward_hook(lambda _, i, o: seen.append((i[0], o)))
    values = first(model)
    handle.remove()
    given, output = seen[0]
    base = torch.nn.functional.linear(given, layer.get_base_layer().weight)
    expected = ((output - base).norm() / base.norm()).item()
    assert values["off_start"][0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", ["LoKrConfig", "OFTConfig", "VeraConfig", "HRAConfig"])
def test_tensors_that_are_drawn_fit_a_law(kind):
    size = {"OFTConfig": {"oft_block_size": 16}}.get(kind, {"r": 8})
    values = first(tuned(kind, llama(), init_weights=False, **size))
    assert values["off_start"].min() > 0.02
    assert values["off_law"].max() < 4


def test_what_was_trained_is_no_longer_as_it_was_drawn():
    model = tuned("LoHaConfig", llama())
    train(model)
    assert first(model)["off_uniform"].min() > 4


def test_a_uniform_law_ends_at_its_bound():
    model = tuned("MissConfig", llama(), r=8, init_weights=False)
    inside = first(model)["off_uniform"].max()
    parameter = next(p for n, p in model.named_parameters() if "miss_block" in n)
    with torch.no_grad():
        parameter.view(-1)[0] = 1.2 / math.sqrt(parameter.shape[1])
    assert inside < 4
    assert math.isinf(first(model)["off_uniform"].max())


def test_no_hook_is_left():
    model = tuned("LoKrConfig", llama(), r=4)
    first(model)
    assert not any(module._forward_hooks for module in model.modules())
