"""Sets of rows against Python's own."""

import random

from ftlab.probes.data.row_sets import KEPT, Findings, RowSet
from ftlab.records.data_scan import Spot


def test_holds_what_a_set_holds():
    numbers = random.Random(0)
    drawn = [numbers.randrange(10_000) for _ in range(3000)]
    rows, known = RowSet(), set()
    for row in drawn:
        assert rows.add(row) == (row not in known)
        known.add(row)
    assert rows.numbers().tolist() == sorted(known)
    assert len(rows) == len(known)
    assert all((row in rows) == (row in known) for row in range(12_000))


def test_takes_a_bit_for_a_row():
    rows = RowSet()
    rows.add(10_000_000)
    assert len(rows._bits) < 1.3e6
    assert RowSet().numbers().tolist() == []


def test_counts_each_row_once_and_keeps_the_first_places():
    found = Findings()
    for row in range(KEPT + 50):
        for _ in range(2):
            if found.add("empty-answer", row):
                found.keep("empty-answer", Spot(row, f"row {row}"))
    assert len(found.rows["empty-answer"]) == KEPT + 50
    assert [spot.row for spot in found.spots["empty-answer"]] == list(range(KEPT))
