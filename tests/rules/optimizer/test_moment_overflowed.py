"""OPT025."""

import pytest

from ftlab.rules.optimizer.moment_overflowed import MomentOverflowed
from tests.runs import RunBuilder, checker, only

INFINITE, UNKNOWN = float("inf"), float("nan")
check = checker(MomentOverflowed())


def run(seconds, firsts=(1.0,) * 9, grads=(1e4,) * 9):
    builder = RunBuilder()
    builder.tensor("w", dtype="float16")
    builder.tensor("v", dtype="float16")
    for second, first, grad in zip(seconds, firsts, grads, strict=False):
        moments = {"moment2_max": [second, 1.0], "moment1_l2": [first, 1.0]}
        gradients = {"has_grad": 1.0, "grad_max": [grad, 1.0]}
        builder.step(gradients | moments)
    return builder


def test_is_quiet_on_a_healthy_run():
    assert check(run([6e4] * 4)) == ()


def test_finds_a_second_moment_that_overflowed():
    finding = only(check(run([6e4, INFINITE, INFINITE])), reason="second-moment")
    places = [str(place) for place in finding.places]
    assert places == ["optimizer exp_avg_sq", "param w"]
    assert (finding.first_step, finding.last_step) == (1, 2)
    assert "float16" in finding.cause


def test_finds_a_first_moment():
    only(check(run([1.0] * 2, firsts=[1.0, INFINITE])), place="optimizer exp_avg")


@pytest.mark.parametrize("grad", [INFINITE, UNKNOWN])
def test_the_gradient_is_to_blame_where_it_was_not_finite(grad):
    assert check(run([6e4, INFINITE], grads=[1.0, grad])) == ()
    assert check(run([6e4, 1.0, INFINITE], grads=[grad, 1.0, 1.0])) == ()
    assert len(check(run([6e4, INFINITE, INFINITE], grads=[1.0, 1.0, grad]))) == 1


def test_not_a_number_is_no_overflow():
    assert check(run([UNKNOWN, UNKNOWN])) == ()
