"""OPT020."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.optimizer.masked_rows_moved import MaskedRowsMoved
from tests.runs import RunBuilder, checker, only, places

check = checker(MaskedRowsMoved())


def run(*looks, decay=0.01, grad=1.0):
    """Each look is (rows, masked, moved)."""
    builder = RunBuilder()
    builder.tensor("words.weight", shape=(99, 8))
    facts = {"class": "AdamW", "groups": [{"lr": 1e-3, "weight_decay": decay}]}
    builder.facts(optimizers=(facts,))
    table = "masked_rows"
    builder.run.append(NameRecord(7, table, "words.weight", "param", ""))
    for step, look in enumerate(looks):
        names = ("rows", "masked", "moved")
        pairs = zip(names, look, strict=True)
        values = {name: np.array([value], np.float32) for name, value in pairs}
        builder.run.append(Block(table, step, np.array([7], np.int32), values))
        builder.step({"has_grad": 1.0, "grad_l2": grad})
    return builder


def test_finds_masked_rows_that_decay_moves():
    finding = only(check(run((40, 39, 39), (40, 39, 39))), reason="weight-decay")
    assert places(finding) == ["param words.weight", "optimizer weight_decay"]
    assert "97.5 % of the rows of words.weight" in finding.message


def test_without_decay_it_is_momentum():
    finding = only(check(run((40, 39, 39), (40, 39, 39), decay=0.0)), reason="momentum")
    assert str(finding.places[1]) == "optimizer exp_avg"


@pytest.mark.parametrize(
    "looks",
    [
        [(40, 39, 39)],
        [(40, 39, 0)] * 2,
        [(40, 0, 0)] * 4,
        [(40, 20, 20)] * 2,
        [(40, 39, 19)] * 2,
        [(0, 0, 0)] * 2,
    ],
)
def test_rows_that_stay_or_learn_are_let_pass(looks):
    assert check(run(*looks)) == ()


def test_an_embedding_without_any_gradient_is_another_matter():
    assert check(run((40, 40, 40), (40, 40, 40), grad=0.0)) == ()
