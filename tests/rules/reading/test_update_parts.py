"""Steps are taken apart into what came before the update, and what went astray."""

import pytest

from ftlab.rules.reading.update_parts import by_step, calls, latest, updates_of
from tests.runs import RunBuilder

BACK, STEP, LATER = ("backward", "loss", {}), "step", ("step", "optimizer 1", {})
CLIP, IDLE = ("clip", "norm", {"count": 2, "of": 4}), ("clip", "norm", {"count": 0})


def updates(*steps):
    builder = RunBuilder()
    for ops in steps:
        builder.step(ops=ops)
    return list(updates_of(builder.run))


@pytest.mark.parametrize(
    ("ops", "counts"),
    [
        ((BACK, CLIP, STEP), (1, 0, 0)),
        ((BACK, CLIP, CLIP, STEP, CLIP), (2, 1, 0)),
        ((CLIP, BACK, STEP), (0, 1, 0)),
        ((BACK, CLIP, BACK, STEP), (0, 0, 0)),  # in the middle of the sum: GRD011
        ((BACK, STEP, CLIP, LATER), (1, 0, 0)),
        ((BACK, IDLE, STEP, IDLE), (0, 0, 2)),
    ],
)
def test_clippings_are_told_apart_by_where_they_are(ops, counts):
    (update,) = updates(ops)
    assert (len(update.clips), len(update.astray), len(update.idle)) == counts


@pytest.mark.parametrize(
    "ops", [(BACK,), (STEP,), (STEP, BACK), (BACK, "skip"), (BACK, STEP, "skip")]
)
def test_a_step_without_an_update_of_its_own_backward_is_none(ops):
    assert updates(ops) == []


def test_steps_come_in_order_with_their_optimizers():
    found = updates((BACK, STEP), (BACK,), (BACK, BACK, STEP, LATER))
    assert [each.step for each in found] == [0, 2]
    assert found[1].targets == ["", "optimizer 1"]
    assert calls(found[1].backwards) == 2


def test_calls_that_the_ledger_keeps_once_count_as_often_as_they_were_made():
    (update,) = updates((("backward", "loss", {"times": 3}), BACK, STEP))
    assert calls(update.backwards) == 4


def test_values_of_steps_that_were_not_measured_are_left_out():
    builder = RunBuilder().step(grad_norm=2.0).step()
    assert by_step(builder.run, "grad_norm") == {0: 2.0}
    assert by_step(builder.run, "never_measured") == {}


def test_the_latest_in_a_row_are_told_in_order_where_they_are_enough():
    assert latest([1, 9, 2, 7, 8], lambda each: each > 5) == [7, 8]
    assert latest([7, 8, 2], lambda each: each > 5) == []
    assert latest([7, 8], lambda each: each > 5, fewest=2) == [7, 8]
    assert latest([7, 8], lambda each: each > 5, fewest=3) == []
