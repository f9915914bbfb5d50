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


def test_updates_of_several_backwards_are_accumulated_by_hand():
    assert report(EARLY, EARLY, EARLY, STEP, backwards=4).findings == ()
