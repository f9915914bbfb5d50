"""ADP032."""

import math

import pytest
import torch

from ftlab.rules.adapter.adapter_drawn_at_random import AdapterDrawnAtRandom
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder

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
    return Engine([AdapterDrawnAtRandom()]).check(builder.run).findings


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
    (finding,) = check(drawn(uniform))
    assert finding.place.name == "layers.0.lora_B.default.weight"
    assert finding.evidence["pairs"] == 2
    assert "zeros_" in finding.fix


def test_the_configuration_stands_in_front_where_it_asked_for_it():
    (finding,) = check(drawn(uniform), config=False)
    assert str(finding.place) == "config init_lora_weights"


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
