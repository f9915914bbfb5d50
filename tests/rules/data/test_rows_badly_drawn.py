"""DAT029."""

import random

import numpy as np
import pytest

from ftlab.records.copied_rows import CopiedRows
from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import LoaderStart
from ftlab.records.names import NameRecord
from ftlab.records.sample_facts import SeenSamples
from ftlab.records.step import Block
from ftlab.rules.data.rows_badly_drawn import BATCHES, LEAST, ROWS, RowsBadlyDrawn
from tests.rules.data.loaders import check as check_loaders
from tests.rules.data.odd import found as found_odd, odd
from tests.runs import RunBuilder, found_by, only, report_by

RULE = RowsBadlyDrawn()


def batch(different=1, rows=8, content=None, micro=0):
    twice = (0, 1) if different < rows else (-1, -1)
    return CopiedRows(micro, rows, different, *twice, content or 0)


def found(*batches):
    builder = RunBuilder().facts(model={"class": "Llama"})
    for step, each in enumerate(batches):
        builder.step(ops=[])
        seen = SeenSamples(step, (), {}, {}, (), None, (each,))
        builder.run.append(Event("rows", step, 0.0, "", seen.as_json()))
    return found_by(RULE, builder.run)


def severity(*batches):
    (finding,) = found(*batches)
    return finding.severity


def others(count=BATCHES, **settings):
    return [batch(content=n + 1, **settings) for n in range(count)]


def test_batches_that_hold_one_row_each_are_a_warning():
    finding = only(found(*others()), "warning")
    assert finding.places == (Place("sample", "1"), Place("sample", "0"))
    assert "row 1 is row 0 again, and 1 of 8 are different" in finding.message


def test_different_rows_and_a_few_copies_are_left_in_peace():
    assert found(*others(different=8)) == ()
    assert found(*others(different=7)) == ()
    assert severity(*others(different=6)) is Severity.INFO


def test_each_row_twice_in_all_batches_is_left_in_peace():
    assert found(*others(different=4)) == ()
    assert severity(*others(different=4), batch(content=9)) is Severity.INFO
    assert severity(*others(rows=2)) is Severity.INFO


@pytest.mark.parametrize(
    "batches",
    [
        others(BATCHES - 1),
        others(rows=ROWS - 1),
        [*others(), batch(different=8, content=9)],
        [batch(content=1)] * BATCHES,
        [*others(BATCHES - 1), *others(BATCHES - 1)],
    ],
)
def test_what_may_be_on_purpose_is_a_note(batches):
    assert severity(*batches) is Severity.INFO


def test_the_micro_batch_is_named():
    only(found(batch(micro=2)), place="sample 1 of micro-batch 2")


def test_dataset_and_workers_are_named():
    (finding,) = found_odd(RULE, (1, odd("repeated", "Stream", value=3, limit=1)))
    assert finding.place == Place("data", "Stream, 3 workers")
    assert "3 times each" in finding.message


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
    return report_by(RULE, builder.run)


ROWS_ORDER = [float(n) for n in range(10, 10 + LEAST)]


def test_epochs_that_repeat_each_other():
    (finding,) = check(ROWS_ORDER, ROWS_ORDER, ROWS_ORDER, epoch=0).findings
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("object", "Own")
    assert "2 later epochs begin with the same 8 rows" in finding.message
    assert "set_epoch" in finding.fix
    (seeded,) = check(ROWS_ORDER, ROWS_ORDER).findings
    assert "Make the generator once" in seeded.fix


@pytest.mark.parametrize(
    ("epochs", "order"),
    [
        ([ROWS_ORDER, ROWS_ORDER[::-1]], "random"),
        ([ROWS_ORDER, ROWS_ORDER, ROWS_ORDER[::-1]], "random"),
        ([ROWS_ORDER, ROWS_ORDER], "in order"),
        ([ROWS_ORDER[:-2], ROWS_ORDER[:-2]], "random"),
        ([[1.0] * LEAST, [1.0] * LEAST], "random"),
        ([ROWS_ORDER], "random"),
    ],
)
def test_other_epochs_are_healthy(epochs, order):
    assert check(*epochs, order=order).findings == ()


def test_an_epoch_that_has_just_begun_is_not_judged():
    assert check(ROWS_ORDER, ROWS_ORDER[:4]).findings == ()
    only(check(ROWS_ORDER, ROWS_ORDER, ROWS_ORDER[:4]).findings, epochs=1)


def test_streams_have_a_set_epoch_of_their_own():
    (finding,) = check(ROWS_ORDER, ROWS_ORDER, epoch=0, sampler="").findings
    assert finding.fix.startswith("dataset.set_epoch")
    assert finding.place == Place("object", "DataLoader")


SEEDED = LoaderStart(5, order="random", sampler="Seedable", seed=42, epoch=0)


def resumed(epoch=0.625, skips=False):
    return {"step": 5, "epoch": epoch, "skips": skips}


@pytest.mark.parametrize("start", [SEEDED, LoaderStart(5, order="in order")])
def test_an_epoch_that_begins_anew_in_its_order(start):
    finding = only(check_loaders(RULE, start, resumed=resumed()), "info")
    assert finding.place == Place("config", "args.ignore_data_skip")
    assert "at step 5, after 62% of an epoch" in finding.message


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (SEEDED, resumed(skips=True)),
        (SEEDED, resumed(epoch=1.0)),
        (SEEDED, resumed(epoch=0.99999)),
        (LoaderStart(5, order="random", sampler="Random"), resumed()),
        (LoaderStart(5, order="stream"), resumed()),
    ],
)
def test_other_resumes_are_healthy(start, told):
    assert check_loaders(RULE, start, resumed=told) == ()


SORTED = [1.0] * 24 + [2.0] * 24
MIXED = random.Random(0).sample(SORTED, len(SORTED))


def start(order="in order", step=0):
    return LoaderStart(step, dataset="Rows", sampler="Sequential", order=order)


@pytest.mark.parametrize("order", ["in order", "stream"])
def test_labels_one_after_the_other(order):
    finding = only(check_loaders(RULE, start(order), rows=SORTED), "warning")
    assert finding.place == Place("data", f"Rows, {order}")
    assert "the first 48 rows come sorted: 2 labels" in finding.message


def test_a_second_epoch_is_not_looked_at():
    only(check_loaders(RULE, start(), start(step=12), rows=SORTED + MIXED), rows=48)


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("random", SORTED),
        ("own", SORTED),
        ("in order", MIXED),
        ("in order", [1.0] * 48),
        ("in order", [float(n) for n in range(48)]),
        ("in order", [1.0] * 47 + [2.0]),
        ("in order", [1.0] * 8 + [2.0] * 8),
        ("in order", [1.0] * 24 + [2.0] * 12 + [1.0] * 12),
    ],
)
def test_other_rows_are_healthy(order, rows):
    assert check_loaders(RULE, start(order), rows=rows) == ()


def test_a_run_that_begins_while_no_loader_is_heard():
    assert check_loaders(RULE, rows=SORTED) == ()


def test_copies_of_one_text_after_the_other_are_no_labels():
    assert check_loaders(RULE, start(), rows=SORTED, texts=SORTED) == ()
    different = [float(n) for n in range(len(SORTED))]
    assert len(check_loaders(RULE, start(), rows=SORTED, texts=different)) == 1
