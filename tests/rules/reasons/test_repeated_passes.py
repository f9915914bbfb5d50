"""Which passes repeat the training pass, and when a loss tells of no margin."""

import math

import pytest

from ftlab.rules.reasons.repeated_passes import loss_of_no_margin, repeated_passes
from tests.runs import RunBuilder

LOG_2 = math.log(2)


def run_of(losses, *, same=1.0, moved=1.0, column="same_passes"):
    builder = RunBuilder()
    for loss in losses:
        extra = {"policy_passes": 1.0, "outputs_moved": moved, column: same}
        builder.step(loss=loss, values=extra)
    return builder.run


@pytest.mark.parametrize("times", [1, 2, 8])
def test_log_2_and_sums_of_it_are_told(times):
    assert loss_of_no_margin(run_of([times * LOG_2] * 4)) == pytest.approx(
        times * LOG_2
    )


def test_log_2_as_bfloat16_has_it_is_told_where_it_is_the_same_bit_for_bit():
    assert loss_of_no_margin(run_of([0.69140625] * 4)) is not None
    assert loss_of_no_margin(run_of([0.69140625] * 3 + [0.691407])) is None


@pytest.mark.parametrize(
    "losses",
    [[LOG_2] * 3, [LOG_2] * 3 + [0.69], [-0.5] * 20, [0.0] * 20, [LOG_2, math.nan] * 4],
)
def test_another_loss_or_too_few_steps_tell_nothing(losses):
    assert loss_of_no_margin(run_of(losses)) is None


def test_a_loss_tells_nothing_where_no_output_moves():
    assert loss_of_no_margin(run_of([LOG_2] * 4, moved=0.0)) is None


def test_a_pass_counts_after_the_first_update_and_in_half_of_the_steps():
    (found,) = repeated_passes(run_of([1.0] * 3, column="same_by_copy"))
    assert (found.reason, found.steps, found.measured) == ("copy", (0, 1, 2), 3)
    assert repeated_passes(run_of([1.0] * 2)) == []
    assert repeated_passes(run_of([1.0] * 3, same=0.0)) == []
