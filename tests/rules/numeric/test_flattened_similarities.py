"""NUM019."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.flattened_similarities import FlattenedSimilarities
from tests.rules.numeric.losses import losses


def check(*off, **meta):
    run = losses(*({"off_unit": each} for each in off), **(SMALL | meta))
    return Engine([FlattenedSimilarities()]).check(run).findings


SMALL = {"factor": 0.07, "factor_op": "mul", "head": "", "classes": 8}


def test_cosines_that_are_made_smaller_are_found():
    (finding,) = check(1e-7, 1e-7)
    assert finding.severity is Severity.WARNING
    assert finding.places == (Place("op", "mul"), Place("op", "cross_entropy"))
    assert "below 1.96" in finding.message
    assert "multiplied by the temperature" in finding.cause


def test_a_quotient_is_named_as_one():
    (finding,) = check(1e-7, factor_op="div")
    assert finding.place == Place("op", "div")
    assert "divided by a number above 1" in finding.cause


@pytest.mark.parametrize("off", [(0.3,), (1e-7, 0.3), (float("nan"),)])
def test_vectors_that_can_grow_are_healthy(off):
    assert check(*off) == ()


@pytest.mark.parametrize("factor", [0.7, 1.0, 14.3])
def test_a_factor_that_leaves_the_loss_room_is_healthy(factor):
    assert check(1e-7, factor=factor) == ()
