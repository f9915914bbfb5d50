"""OPT007."""

import pytest

from ftlab.rules.optimizer.parameter_held_twice import ParameterHeldTwice
from tests.runs import RunBuilder, only, report_by

BACK = ("backward", "loss", {})
FIRST, SECOND = ("step", "optimizer 0", {}), ("step", "optimizer 1", {})
CLEAR = ("zero_grad", "optimizer 0", {})


def report(*held, ops=(BACK, FIRST, SECOND), steps=4):
    optimizers = tuple({"groups": [{"names": list(names)}]} for names in held)
    builder = RunBuilder().facts(model={"class": "Toy"}, optimizers=optimizers)
    builder.steps(steps, ops=ops)
    return report_by(ParameterHeldTwice(), builder.run)


def test_finds_what_one_optimizer_holds_twice():
    only(report("abb").findings, place="param b", reason="twice-in-one")


def test_finds_what_two_optimizers_step_with_the_same_gradients():
    finding = only(report("ab", "bc").findings, place="param b")
    assert finding.evidence["steps"] == 4


WITHIN = ("step", "optimizer 1", {"within": True})


@pytest.mark.parametrize(
    "ops",
    [
        (BACK, FIRST, BACK, SECOND),
        (BACK, FIRST, CLEAR, SECOND),
        (BACK, FIRST, WITHIN),
        (BACK, FIRST),
    ],
)
def test_optimizers_that_take_turns_or_work_within_each_other_are_fine(ops):
    assert report("ab", "bc", ops=ops).findings == ()


def test_two_optimizers_that_share_nothing_are_fine():
    assert report("ab", "c").findings == ()


def test_two_steps_together_are_not_enough():
    assert report("ab", "bc", steps=2).findings == ()
