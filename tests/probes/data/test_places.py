"""Rows are found where they are."""

import random

from ftlab.probes.data.files.entries import Source
from ftlab.probes.data.places import Places
from ftlab.records.printable import printable


def test_rows_of_several_files_are_named_with_their_file():
    numbers = random.Random(0)
    files = [Source(name, "line", list) for name in ("a.jsonl", "b\x1b.jsonl")]
    places, expected, row = Places(files), [], 0
    for at, file in enumerate(files):
        line = 0
        for _ in range(50):
            line += 1 + (numbers.random() < 0.2)
            places.add(row, at, line)
            expected.append(f"line {line} of {printable(file.name)}")
            row += 1
    assert [places[row] for row in range(100)] == expected


def test_rows_side_by_side_with_lines_take_one_mark():
    places = Places([Source("a.jsonl", "line", list)])
    for row in range(1000):
        places.add(row, 0, row + 1)
    assert len(places._rows) == 1
    assert places[999] == "line 1000"
