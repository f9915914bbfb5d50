"""DAT083."""

import random

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import LoaderStart
from ftlab.rules.data.rows_sorted_by_label import RowsSortedByLabel
from tests.rules.data.loaders import (
    check,
    is_left_out_without_a_loader_and_open_on_an_empty_run,
)

RULE = RowsSortedByLabel()
SORTED = [1.0] * 24 + [2.0] * 24
MIXED = random.Random(0).sample(SORTED, len(SORTED))


def start(order="in order", step=0):
    return LoaderStart(step, dataset="Rows", sampler="Sequential", order=order)


def test_a_run_without_a_loader_is_left_out():
    assert is_left_out_without_a_loader_and_open_on_an_empty_run(RULE)


@pytest.mark.parametrize("order", ["in order", "stream"])
def test_labels_one_after_the_other(order):
    (finding,) = check(RULE, start(order), rows=SORTED)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("data", f"Rows, {order}")
    assert "the first 48 rows come sorted: 2 labels" in finding.message


def test_a_second_epoch_is_not_looked_at():
    (finding,) = check(RULE, start(), start(step=12), rows=SORTED + MIXED)
    assert finding.evidence["rows"] == 48


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
    assert check(RULE, start(order), rows=rows) == ()


def test_a_run_that_begins_while_no_loader_is_heard():
    assert check(RULE, rows=SORTED) == ()


def test_copies_of_one_text_after_the_other_are_no_labels():
    assert check(RULE, start(), rows=SORTED, texts=SORTED) == ()
    different = [float(n) for n in range(len(SORTED))]
    assert len(check(RULE, start(), rows=SORTED, texts=different)) == 1
