"""DAT056."""

import numpy as np
import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import LoaderStart
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.data.epochs_in_one_order import LEAST, EpochsInOneOrder
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder

RULE = EpochsInOneOrder()


def check(*epochs, order="random", epoch=None, sampler="Own"):
    """Feed two rows to a step, epoch by epoch."""
    builder = RunBuilder().facts(model={"class": "Llama"})
    for row in range(2):
        meta = {"micro_batch": 0, "row": row}
        name = NameRecord(row, "samples", f"{row}", "sample", "", meta=meta)
        builder.run.append(name)
    for rows in epochs:
        number = builder.step_number
        start = LoaderStart(number, sampler=sampler, order=order, epoch=epoch)
        builder.run.append(Event("loader", number, 0.0, "", start.as_json()))
        for at in range(0, len(rows), 2):
            fed = np.array(rows[at : at + 2], np.float32)
            ids = np.arange(len(fed), dtype=np.int32)
            builder.run.append(Block("samples", builder.step_number, ids, {"ids": fed}))
            builder.step()
    return Engine([RULE]).check(builder.run)


ROWS = [float(n) for n in range(10, 10 + LEAST)]


def test_epochs_that_repeat_each_other():
    (finding,) = check(ROWS, ROWS, ROWS, epoch=0).findings
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("object", "Own")
    assert "2 later epochs begin with the same 8 rows" in finding.message
    assert "set_epoch" in finding.fix
    (seeded,) = check(ROWS, ROWS).findings
    assert "Make the generator once" in seeded.fix


@pytest.mark.parametrize(
    ("epochs", "order"),
    [
        ([ROWS, ROWS[::-1]], "random"),
        ([ROWS, ROWS, ROWS[::-1]], "random"),
        ([ROWS, ROWS], "in order"),
        ([ROWS[:-2], ROWS[:-2]], "random"),
        ([[1.0] * LEAST, [1.0] * LEAST], "random"),
        ([ROWS], "random"),
    ],
)
def test_other_epochs_are_healthy(epochs, order):
    assert check(*epochs, order=order).findings == ()


def test_an_epoch_that_has_just_begun_is_not_judged():
    assert check(ROWS, ROWS[:4]).findings == ()
    (finding,) = check(ROWS, ROWS, ROWS[:4]).findings
    assert finding.evidence["epochs"] == 1


def test_runs_without_a_loader_are_left_out():
    run = RunBuilder().facts(model={"class": "Llama"}).step().run
    assert Engine([RULE]).check(run).not_checked == ()
    (left,) = Engine([RULE]).check(RunBuilder().run).not_checked
    assert left.code == RULE.code


def test_streams_have_a_set_epoch_of_their_own():
    (finding,) = check(ROWS, ROWS, epoch=0, sampler="").findings
    assert finding.fix.startswith("dataset.set_epoch")
    assert finding.place == Place("object", "DataLoader")
