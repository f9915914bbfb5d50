"""Rows of one pattern, whose names and numbers are what the task varies."""

import pytest

from ftlab.probes.data.across.varied import LONGEST, Varied
from ftlab.probes.data.text_store import BETWEEN, TextStore

NAMES = ("Ada", "Kim", "Lin", "Noa", "Uma")


def varied(*asked, said="3.", rows=None):
    store = TextStore()
    for each in asked:
        store.append(BETWEEN.join((each, said, "")))
    return Varied(store, len(asked) if rows is None else rows)


def pages(name, number=3, where="at home"):
    return f"{name} reads {number} pages {where}. How many are that?"


def test_what_a_task_varies_tells_rows_apart():
    asked = [pages(name, at) for at, name in enumerate(NAMES)]
    assert varied(*asked).tells_apart(0, 4)
    assert not varied(*asked[:3]).tells_apart(0, 2)
    assert not varied(*asked, rows=3).tells_apart(0, 4)


@pytest.mark.parametrize(
    "asked",
    [
        [pages("Ada")] * 5,
        [pages("Ada", where=where) for where in ("here", "there", "in bed", "far off")],
        [pages(name, where="on" * LONGEST) for name in NAMES],
    ],
)
def test_other_differences_do_not(asked):
    assert not varied(*asked).tells_apart(0, 3)


def test_texts_alone_are_compared_as_they_are():
    store = TextStore()
    for name in NAMES:
        store.append(BETWEEN.join(("", pages(name), "")))
    assert Varied(store, 5).tells_apart(0, 4)


def test_a_question_with_words_before_it_is_the_same_one():
    asked = [pages("Ada"), f"Hi! {pages('ADA')}", pages("Kim")]
    rows = varied(*asked)
    assert rows.holds(0, 1)
    assert rows.holds(1, 0)
    assert not rows.holds(0, 2)
    assert not varied(*asked, said="").holds(0, 1)
