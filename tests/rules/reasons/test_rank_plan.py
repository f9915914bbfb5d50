"""AdaLoRA's plan and clock."""

import numpy as np
import pytest

from ftlab.rules.reasons.rank_plan import Clock, Plan, length_of, plan_of
from tests.runs import RunBuilder

PLAN = Plan("default", begin=10, end=30, total=40, every=1, target=2)


@pytest.mark.parametrize(
    ("step", "left"), [(0, 1.0), (10, 1.0), (20, 0.125), (30, 0.0), (99, 0.0)]
)
def test_the_ranks_go_along_a_cubic_curve(step, left):
    assert PLAN.share_left(step) == pytest.approx(left)


def test_the_curve_is_that_of_peft():
    from peft import AdaLoraConfig
    from peft.tuners.adalora.layer import RankAllocator
    from torch import nn

    config = AdaLoraConfig(init_r=8, target_r=2, tinit=10, tfinal=10, total_step=40)
    allocator = RankAllocator(nn.Linear(1, 1), config, "default")
    allocator.init_bgt, allocator.target_bgt = 800, 200
    for step in range(12, 30):
        budget, _ = allocator.budget_schedule(step)
        assert budget == int(200 + 600 * PLAN.share_left(step))


def test_a_clock_has_a_pace_and_goes_on_with_it():
    clock = Clock(np.array([2, 4, 8]), np.array([20.0, 24.0, 32.0]))
    assert clock.pace == 2.0
    assert clock.at(10) == 36.0


def test_the_plan_is_that_of_the_adapter_that_is_trained():
    builder = RunBuilder()
    asked = {"tinit": 3, "tfinal": 10, "total_step": 50, "target_r": 4, "deltaT": 5}
    described = {"type": "ADALORA", "parts": {"adapter": {"trainable": 1}}}
    builder.facts(
        model={
            "adapters": {"adapters": {"a": {"type": "LORA"}, "b": described}},
            "peft": {"b": asked},
        }
    )
    assert plan_of(builder.run) == Plan("b", 3, 40, 50, 5, 4)


def test_the_length_is_what_a_trainer_planned_or_what_was_told_so_far():
    clock = Clock(np.array([0, 1]), np.array([1.0, 2.0]))
    assert length_of(RunBuilder().run, clock) == (2.0, False)
    planned = RunBuilder().facts(training={"max_steps": 10})
    assert length_of(planned.run, clock) == (10.0, True)
