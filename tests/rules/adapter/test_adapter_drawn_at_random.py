"""ADP032."""

import math

import numpy as np
import pytest
import torch

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.adapter_drawn_at_random import AdapterDrawnAtRandom
from tests.runs import RunBuilder, found_by, only

RANK = 8
SHAPES = ((64, RANK), (128, RANK))


def check(norms, *, a=1.0, first=0, config=True, active=True, trainable=True):
    builder = RunBuilder()
    for index, shape in enumerate(SHAPES):
        name = f"layers.{index}.lora_B.default.weight"
        row = builder.tensor(name, shape=shape, meta={"role": "lora_B"})
        facts = {"r": RANK, "active": active, "b": row if trainable else -1}
        builder.pair(f"layers.{index}", "default", **facts)
    builder.facts(model={"peft": {"default": {"init_lora_weights": config}}})
    builder.step_number = first
    builder.step(None, {"a_l2": a, "b_l2": norms})
    return found_by(AdapterDrawnAtRandom(), builder.run)


def drawn(draw):
    generator = torch.Generator().manual_seed(0)
    return [float(draw(torch.empty(shape), generator).norm()) for shape in SHAPES]


def uniform(weight, generator):
    return torch.nn.init.kaiming_uniform_(weight, math.sqrt(5), generator=generator)


def normal(deviation):
    return lambda weight, generator: weight.normal_(0, deviation, generator=generator)


@pytest.mark.parametrize("deviation", [0.02, 1 / RANK])
def test_other_laws_may_be_the_first_steps_of_adam(deviation):
    assert check(drawn(normal(deviation))) == ()


def test_a_drawn_b_is_found_by_its_law():
    finding = only(check(drawn(uniform)), pairs=2)
    assert finding.place.name == "layers.0.lora_B.default.weight"
    assert "zeros_" in finding.fix


def test_the_configuration_stands_in_front_where_it_asked_for_it():
    only(check(drawn(uniform), config=False), place="config init_lora_weights")


def test_a_fresh_adapter_is_quiet():
    assert check([0.0, 0.0]) == ()


def test_norms_that_fit_no_law_were_trained():
    assert check([3.1, 0.4]) == ()
    one, other = drawn(uniform)
    assert check([one, 1.5 * other]) == ()
    assert len(check([1.05 * one, other])) == 1


def test_a_at_zero_makes_a_random_b_harmless():
    assert check(drawn(uniform), a=0.0) == ()


def test_only_the_start_of_what_is_trained_is_judged():
    assert check(drawn(uniform), first=16) == ()
    assert check(drawn(uniform), active=False) == ()
    assert check(drawn(uniform), trainable=False) == ()


def vectors(*values, first=0):
    """Check a run of IA3 with these vectors at its first step."""
    builder = RunBuilder()
    ids = np.arange(len(values), dtype=np.int32) + 50
    for row, value in zip(ids.tolist(), values, strict=True):
        name = f"layers.{row}.ia3_l.default"
        meta = {"param": builder.tensor(name), "size": value.numel()}
        builder.run.append(NameRecord(row, "vectors", name, "adapter", "", meta=meta))
    columns = {
        "vector_mean": [float(value.mean()) for value in values],
        "vector_spread": [float(value.std(correction=0)) for value in values],
        "off_one": [float((value - 1).abs().max()) for value in values],
    }
    arrays = {name: np.array(each, np.float32) for name, each in columns.items()}
    builder.run.append(Block("vectors", first, ids, arrays))
    builder.step_number = first
    builder.step()
    return found_by(AdapterDrawnAtRandom(), builder.run)


def noise(size, seed):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def test_vectors_that_are_drawn_around_0():
    finding = only(vectors(noise(64, 0), noise(128, 1)), reason="normal")
    assert str(finding.place) == "config init_ia3_weights"


def test_vectors_that_are_0():
    finding = only(vectors(torch.zeros(64), torch.zeros(128)), reason="zeros")
    assert finding.place.name == "layers.50.ia3_l.default"


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_vectors_around_1_are_fresh_or_trained(spread):
    assert vectors(1 + spread * noise(64, 0), 1 + spread * noise(64, 1)) == ()


def test_small_vectors_around_0_are_not_drawn_so():
    assert vectors(0.1 * noise(64, 0), 0.1 * noise(64, 1)) == ()


def test_one_vector_that_is_not_drawn_is_enough_to_be_quiet():
    assert vectors(noise(64, 0), torch.ones(64)) == ()


def test_later_steps_prove_nothing_of_vectors():
    assert vectors(noise(64, 0), first=3) == ()
