"""GRD007."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.gradient.stepped_while_accumulating import SteppedWhileAccumulating
from tests.runs import RunBuilder, healthy_lora

BACK = ("backward", "loss", {})
EARLY = ("step", "optimizer 0", {"accumulating": 4})
STEP = ("step", "optimizer 0", {})


def report(*updates, backwards=1):
    builder = RunBuilder()
    for update in updates:
        back = ("backward", "loss", {"times": backwards})
        builder.step(ops=[back, update])
    return Engine([SteppedWhileAccumulating()]).check(builder.run)


def test_finds_updates_that_accelerate_would_have_left_out():
    (finding,) = report(EARLY, EARLY, EARLY, STEP).findings
    assert str(finding.place) == "call accelerator.prepare"
    assert finding.evidence["gathered"] == 4


def test_is_quiet_on_a_healthy_run_and_not_checked_on_an_empty_one():
    assert Engine([SteppedWhileAccumulating()]).check(healthy_lora().run).findings == ()
    assert Engine([SteppedWhileAccumulating()]).check(RunBuilder().run).not_checked


@pytest.mark.parametrize(
    "updates",
    [
        [EARLY] * 3,  # what an earlier loop has left
        [EARLY] * 8 + [STEP],
        [EARLY, EARLY, STEP],
        [EARLY] * 3 + [STEP] * 30,
    ],
)
def test_what_may_be_another_loops_is_not_taken_for_it(updates):
    assert report(*updates).findings == ()


def test_a_window_that_is_left_over_and_longer_than_the_run():
    builder = RunBuilder()
    left = ("step", "optimizer 0", {"accumulating": 64})
    for number in range(40):  # some updates are made of two backwards
        back = ("backward", "loss", {"times": 1 + (number % 4 == 0)})
        builder.step(ops=[back, left])
    assert Engine([SteppedWhileAccumulating()]).check(builder.run).findings == ()


def test_updates_of_several_backwards_are_accumulated_by_hand():
    assert report(EARLY, EARLY, EARLY, STEP, backwards=4).findings == ()
