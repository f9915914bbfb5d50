"""NUM018."""

import pytest
import torch

from ftlab.records.finding import Place
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.loss_kept_high import LossKeptHigh, lowest_loss
from tests.rules.environment.trainers import run_of
from tests.rules.numeric.losses import losses
from tests.runs import only


def check(smoothing, facts=None):
    run = losses({}, loss="label_smoothing", smoothing=smoothing)
    if facts is not None:
        run.append(facts)
    return Engine([LossKeptHigh()]).check(run).findings


def test_a_target_that_is_mostly_even_is_found():
    finding = only(check(0.9), "warning", "config label_smoothing")
    assert "below 4.67" in finding.message
    assert finding.evidence["guessing"] == pytest.approx(4.85, abs=0.01)


def test_the_trainer_s_option_is_named_where_it_is_set():
    facts = run_of(args={"label_smoothing_factor": 0.9}).facts
    finding = only(check(0.9, facts), place="config label_smoothing_factor")
    assert finding.fix.startswith("label_smoothing_factor=0.1")


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5, 1.5])
def test_a_target_that_is_mostly_the_label_s_is_healthy(smoothing):
    assert check(smoothing) == ()


@pytest.mark.parametrize("share", [0.1, 0.9, 1.0])
def test_the_lowest_loss_is_that_of_the_target_itself(share):
    target = torch.full((1, 7), share / 7)
    target[0, 2] += 1 - share
    least = torch.nn.functional.cross_entropy(
        target.log(), torch.tensor([2]), label_smoothing=share
    )
    assert lowest_loss(share, 7) == pytest.approx(least.item(), abs=1e-5)


def test_what_a_run_does_not_hold_is_not_checked():
    from ftlab.runlog.run import Run

    report = Engine([LossKeptHigh()]).check(Run())
    assert [each.code for each in report.not_checked] == ["NUM018"]


def cosines(*off, **meta):
    run = losses(*({"off_unit": each} for each in off), **(SMALL | meta))
    return Engine([LossKeptHigh()]).check(run).findings


SMALL = {"factor": 0.07, "factor_op": "mul", "head": "", "classes": 8}


def test_cosines_that_are_made_smaller_are_found():
    finding = only(cosines(1e-7, 1e-7), "warning")
    assert finding.places == (Place("op", "mul"), Place("op", "cross_entropy"))
    assert "below 1.96" in finding.message
    assert "multiplied by the temperature" in finding.cause


def test_a_quotient_is_named_as_one():
    finding = only(cosines(1e-7, factor_op="div"), place="op div")
    assert "divided by a number above 1" in finding.cause


@pytest.mark.parametrize("off", [(0.3,), (1e-7, 0.3), (float("nan"),)])
def test_vectors_that_can_grow_are_healthy(off):
    assert cosines(*off) == ()


@pytest.mark.parametrize("factor", [0.7, 1.0, 14.3])
def test_a_factor_that_leaves_the_loss_room_is_healthy(factor):
    assert cosines(1e-7, factor=factor) == ()
