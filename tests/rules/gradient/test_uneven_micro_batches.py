"""GRD018."""

import pytest

from ftlab.rules.gradient.uneven_micro_batches import UnevenMicroBatches
from tests.runs import RunBuilder, found_by, only, report_by

STEP = ("step", "optimizer 0", {})


def back(micro, labels, weight=0.5, **detail):
    known = {"micro": micro, "loss": "mean", "weight": weight, "labels": labels}
    return ("backward", "loss", known | detail)


def report(*backs, steps=4):
    builder = RunBuilder().steps(steps, ops=(*backs, STEP))
    return report_by(UnevenMicroBatches(), builder.run)


def test_tells_how_far_apart_the_weights_of_tokens_are():
    finding = only(report(back(0, 10), back(1, 30)).findings, "info")
    assert finding.evidence["apart"] == pytest.approx(3)


@pytest.mark.parametrize(
    "backs",
    [
        (back(0, 10),),
        (back(0, 20), back(1, 30)),
        (back(0, 10, 0.25), back(1, 30, 0.75)),
        (back(0, 10, loss="sum"), back(1, 30)),
        (back(0, 10, times=2), back(1, 30)),
        (back(0, 0), back(1, 30)),
        (back(0, 10, 0.0), back(1, 30)),
    ],
)
def test_other_weights_are_fine(backs):
    assert report(*backs).findings == ()


def test_steps_that_were_not_looked_at_do_not_count():
    builder = RunBuilder()
    for number in range(9):
        look = number % 4 == 0
        ops = (back(0, 10 * look), back(1, 30 * look), STEP)
        builder.step(ops=ops)
    only(found_by(UnevenMicroBatches(), builder.run), looks=3)


def test_two_looks_are_not_enough():
    assert report(back(0, 10), back(1, 30), steps=2).findings == ()
