"""Windows of micro-batches, as far as their losses can be compared."""

import pytest

from ftlab.rules.reading.accumulation import feels_size, usual_count, windows_of
from tests.runs import RunBuilder


def back(micro, weight, *divided, **detail):
    known = {"micro": micro, "loss": "mean", "node": "NllLoss", "weight": weight}
    return ("backward", "loss", known | {"divided": list(divided)} | detail)


def windows(*steps, columns=None):
    builder = RunBuilder()
    builder.tensor("weight")
    for ops in steps:
        builder.step(columns, ops=(*ops, "step"))
    return windows_of(builder.run)


def test_weights_are_added_up():
    (window,) = windows((back(0, 0.25, 4), back(1, 0.25, 4)))
    assert (window.count, window.total, window.divided) == (2, 0.5, (4,))
    assert window.pure
    assert not window.whole


def test_a_factor_beside_the_divisors_is_seen():
    (window,) = windows((back(0, 0.5, 4), back(1, 0.5, 4)))
    assert not window.pure


def test_losses_that_were_divided_by_different_numbers_share_none():
    (window,) = windows((back(0, 0.25, 4), back(1, 0.5, 2)))
    assert window.divided == ()
    assert not window.whole


@pytest.mark.parametrize(
    ("weight", "largest", "whole"),
    [(1.0, 1.0, True), (1.3, 1.0, True), (0.9, 0.9, True), (1, 0.5, False), (2, 2, 0)],
)
def test_a_loss_is_whole_where_its_heaviest_part_was_not_divided(
    weight, largest, whole
):
    (window,) = windows((back(0, weight, largest=largest),))
    assert window.whole == whole


def test_losses_that_cannot_be_compared_make_no_window():
    sums = (back(0, 0, loss="sum"), back(1, 1))
    kinds = (back(0, 1), back(1, 1, node="MseLoss"))
    assert windows(sums, kinds, (back(0, 1), back(0, 1))) == []
    assert windows((back(0, 1), "zero_grad", back(1, 1))) == []
    assert windows((back(0, 1),), columns={"grad_l2_after": 1.0}) == []


def test_the_usual_count_is_that_of_most_windows_and_the_larger_of_two():
    two, one = (back(0, 1), back(1, 1)), (back(0, 1),)
    assert usual_count(windows(two, one, one)) == 1
    assert usual_count(windows(two, one)) == 2
    assert usual_count([]) == 0


@pytest.mark.parametrize(
    ("kinds", "felt"),
    [(["SGD"], True), (["AdamW"], False), (["SGD", "AdamW"], False), ([], False)],
)
def test_the_size_of_gradients_is_felt_by_sgd_alone(kinds, felt):
    optimizers = tuple({"class": kind} for kind in kinds)
    assert feels_size(RunBuilder().facts(optimizers=optimizers).run) is felt
