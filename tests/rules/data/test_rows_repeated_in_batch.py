"""DAT029."""

import pytest

from ftlab.records.copied_rows import CopiedRows
from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.sample_facts import SeenSamples
from ftlab.rules.data.rows_repeated_in_batch import BATCHES, ROWS, RowsRepeatedInBatch
from ftlab.rules.engine import Engine
from tests.rules.data.rows import is_quiet_on_a_healthy_run_and_open_on_an_empty_one
from tests.runs import RunBuilder

RULE = RowsRepeatedInBatch()


def batch(different=1, rows=8, content=None, micro=0):
    twice = (0, 1) if different < rows else (-1, -1)
    return CopiedRows(micro, rows, different, *twice, content or 0)


def found(*batches):
    builder = RunBuilder().facts(model={"class": "Llama"})
    for step, each in enumerate(batches):
        builder.step(ops=[])
        seen = SeenSamples(step, (), {}, {}, (), None, (each,))
        builder.run.append(Event("rows", step, 0.0, "", seen.as_json()))
    return Engine([RULE]).check(builder.run).findings


def severity(*batches):
    (finding,) = found(*batches)
    return finding.severity


def others(count=BATCHES, **settings):
    return [batch(content=n + 1, **settings) for n in range(count)]


def test_batches_that_hold_one_row_each_are_a_warning():
    (finding,) = found(*others())
    assert finding.severity is Severity.WARNING
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
    (finding,) = found(batch(micro=2))
    assert finding.place == Place("sample", "1 of micro-batch 2")


def test_needs_samples():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)
