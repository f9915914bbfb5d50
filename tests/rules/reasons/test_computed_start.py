"""LoRA whose start was to be computed."""

import math

import pytest

from ftlab.rules.reasons.computed_start import asked_init, not_computed
from tests.runs import RunBuilder

RANK, INPUTS = 8, 64
DRAWN = math.sqrt(RANK / 3)


def check(*norms, b=0.0, init="eva", first=0):
    builder = RunBuilder()
    for index, _ in enumerate(norms):
        name = f"layers.{index}.lora_A.default.weight"
        row = builder.tensor(name, shape=(RANK, INPUTS), meta={"role": "lora_A"})
        builder.pair(f"layers.{index}", "default", r=RANK, a=row, active=True)
    builder.facts(model={"peft": {"default": {"init_lora_weights": init}}})
    builder.step_number = first
    builder.step(None, {"a_l2": list(norms), "b_l2": b})
    assert asked_init(builder.run, "default") == (init if init is not True else "")
    return not_computed(builder.run)


@pytest.mark.parametrize("init", ["eva", "lora_ga"])
def test_an_a_that_is_drawn_as_by_default(init):
    found = check(DRAWN, 1.02 * DRAWN, init=init)
    assert [name.name for name in found["default"]] == [
        "layers.0.lora_A.default.weight",
        "layers.1.lora_A.default.weight",
    ]


def test_rows_of_length_1_are_eva():
    assert check(math.sqrt(RANK), math.sqrt(RANK)) == {}


def test_one_pair_that_was_computed_is_enough_to_be_quiet():
    assert check(DRAWN, math.sqrt(RANK)) == {}


def test_other_methods_trained_adapters_and_later_steps_are_not_judged():
    assert check(DRAWN, init=True) == {}
    assert check(DRAWN, init="pissa") == {}
    assert check(DRAWN, b=0.1) == {}
    assert check(DRAWN, first=5) == {}
