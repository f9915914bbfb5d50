"""Answers that were moved by a row, and neighbours that only sound alike."""

import random
from itertools import pairwise

import pytest

from ftlab.probes.data.across.moved_answers import report_moved
from ftlab.probes.data.scan import Scan
from tests.probes.data.scanned import rows_with, scanned


def names(count, seed=0):
    drawn = random.Random(seed)
    return ["".join(drawn.choices("bcdfgklmnprstaeiou", k=9)) for _ in range(count)]


def kept(rows):
    scan = scanned(rows)
    report_moved(scan)
    return rows_with(scan, "answer-of-neighbour")


def asked(name):
    return f"What does the part called {name} do, please?"


def test_answers_of_the_row_before_or_behind_are_found():
    known = names(400)
    said = [f"As for {name}, it does what it should." for name in known]
    right = [
        {"prompt": asked(n), "completion": s} for n, s in zip(known, said, strict=True)
    ]
    assert kept(right) == []
    for by in (1, -1):
        moved = [
            {"prompt": asked(name), "completion": said[(at + by) % 400]}
            if at >= 200
            else right[at]
            for at, name in enumerate(known)
        ]
        assert kept(moved) == list(range(200, 400))


def block(first, last, by, count=600):
    """Give some rows the answers of rows before or behind."""
    known = names(count)
    for at, name in enumerate(known):
        moved = known[at + by] if first <= at < last else name
        yield {"prompt": asked(name), "completion": f"So it is with {moved}."}


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize(("first", "last"), [(300, 360), (301, 381), (30, 70), (7, 33)])
def test_a_block_is_found_from_its_first_row_to_its_last(first, last, by):
    assert kept(list(block(first, last, by))) == list(range(first, last))


def test_a_few_moved_answers_are_no_block():
    assert kept(list(block(300, 320, 1))) == []


def test_a_block_is_none_where_few_others_have_an_answer_that_fits():
    rows = list(block(300, 325, 1))
    for at, row in enumerate(rows):
        if at % 8 and not 300 <= at < 325:
            row["completion"] = "So it is."
    assert kept(rows) == []


def test_a_large_dataset_is_tried_at_some_places(monkeypatch):
    monkeypatch.setattr("ftlab.probes.data.across.moved_answers.TRIED", 4)
    known = names(2000)
    rows = [
        {"prompt": asked(name), "completion": f"So it is with {known[at - 1]}."}
        for at, name in enumerate(known)
    ]
    assert kept(rows) == list(range(2000))


def goes_on(count=200):
    parts = [
        f"The {n} came, and saw the {m}."
        for n, m in zip(names(count), names(count, 1), strict=True)
    ]
    return [{"prompt": a, "completion": b} for a, b in pairwise(parts)]


def talks(count=200):
    rows, before = [], ""
    for name in names(count):
        before = f"{before[-300:]}\nWhat is {name}?"
        said = f"It is one of those that we have: {name[::-1]} and no other, I think."
        rows.append({"prompt": before, "completion": said})
        before += f"\n{said}"
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        goes_on(),
        talks(),
        [{"prompt": asked(n), "completion": "Yes."} for n in names(200)],
        [{"prompt": "Why so?", "completion": f"It is {n}."} for n in names(200)],
        [{"prompt": asked(n), "completion": f"It is {n}."} for n in names(60)],
        [{"prompt": asked(n), "completion": asked(n)} for n in names(20)] * 10,
        [{"text": asked(n)} for n in names(200)],
        [
            {
                "prompt": asked(name),
                "completion": f"{name}, like {near}, is a part; so is {next_}.",
            }
            for name, near, next_ in zip(
                *(names(202)[at:][:200] for at in range(3)), strict=True
            )
        ],
    ],
    ids=["chunks", "turns", "yes", "one", "few", "again", "texts", "related"],
)
def test_is_silent_on_rows_that_go_together(rows):
    assert kept(rows) == []


def test_what_was_not_kept_is_not_looked_at():
    scan = scanned([{"prompt": asked(n), "completion": "a"} for n in names(200)])
    assert isinstance(scan, Scan)
    scan.texts = None
    report_moved(scan)
    assert rows_with(scan, "answer-of-neighbour") == []
