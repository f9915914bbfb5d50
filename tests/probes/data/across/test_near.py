"""Rows that are almost the same, against comparing every row with every other."""

import random
import re
import sys
from types import SimpleNamespace

import pytest

from ftlab.probes.data.across.near import THRESHOLD, NearRows, minhash, near_pass
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.text_store import BETWEEN, TextStore
from tests.probes.data.across.test_shingles import cut

WORDS = [f"{a}{b}" for a in "bcdfglmnprst" for b in ("ale", "orn", "ist", "ube", "ane")]


def stored(rows):
    store = TextStore()
    for asked, answered, *beside in rows:
        store.append(BETWEEN.join((asked, answered, *(beside or ("",)))))
    return store


def found(rows, skipped=()):
    left_out = RowSet()
    for row in skipped:
        left_out.add(row)
    near = NearRows(stored(rows), left_out)
    return {row: (first, similarity) for row, first, similarity in near.pairs()}


def prose(numbers, size=60):
    return " ".join(numbers.choice(WORDS) for _ in range(size))


def jaccard(one, two):
    one, two = set(cut(one)), set(cut(two))
    return len(one & two) / len(one | two) if one | two else 1.0


def changed(numbers, text, count):
    words = text.split()
    for at in numbers.sample(range(len(words)), count):
        words[at] = numbers.choice(WORDS)
    return " ".join(words)


def test_finds_what_comparing_all_rows_finds():
    numbers = random.Random(0)
    rows = [(prose(numbers), prose(numbers)) for _ in range(150)]
    for at in range(60):
        asked, answered = rows[at]
        rows.append((asked, changed(numbers, answered, at % 4)))
    pairs = found(rows)
    likeness = {150 + at: jaccard(rows[at][1], rows[150 + at][1]) for at in range(60)}
    assert set(pairs) == {row for row, like in likeness.items() if like >= THRESHOLD}
    for row, (first, similarity) in pairs.items():
        assert first == row - 150
        assert similarity == pytest.approx(likeness[row])


def test_case_spaces_and_punctuation_do_not_count():
    rows = [("What is it?", "It is the capital."), ("WHAT IS IT", "it is  the capital")]
    assert found(rows) == {1: (0, 1.0)}


def test_answers_to_one_prompt_are_not_the_same():
    numbers = random.Random(0)
    asked = prose(numbers, 200)
    rows = [(asked, prose(numbers)) for _ in range(40)]
    rows += [(asked, word) for word in ("yes", "no", "maybe")]
    assert found(rows) == {}


def test_one_answer_to_several_prompts_is_meant():
    numbers = random.Random(0)
    rows = [(prose(numbers), "I cannot help with that.") for _ in range(60)]
    assert found(rows) == {}


def test_the_frame_of_a_template_does_not_count():
    numbers = random.Random(0)
    frame = prose(numbers, 300)
    rows = [(f"{frame} {prose(numbers, 8)}", "positive") for _ in range(120)]
    rows.append((rows[5][0].replace(" ", "  ").upper(), "Positive."))
    assert found(rows) == {120: (5, 1.0)}


def test_rows_that_are_left_out_and_empty_ones_are_not_compared():
    rows = [("a b c", "d"), ("A B C", "D"), ("", ""), ("", "")]
    assert found(rows) == {1: (0, 1.0)}
    assert found(rows, skipped=[1]) == {}


def test_rows_with_other_pictures_are_not_the_same():
    asked, answered = "Is there a cat in this picture?", "No, there is none."
    rows = [(asked, answered, "1f"), (asked, answered, "2e")]
    rows += [(asked.upper(), answered, "1f"), (asked, answered)]
    assert found(rows) == {2: (0, 1.0)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Solve x^2 + 11x + 6 = 0.", "Solve x^2 - 11x + 6 = 0."),
        ("The roots of x + (-3) are", "The roots of x + (3) are"),
        ("What is 4 * 5?", "What is 4 + 5?"),
        ("Write it in C++.", "Write it in C#."),
    ],
)
def test_other_signs_make_another_text(one, other):
    assert found([(one, "It is so."), (other, "It is so.")]) == {}
    assert found([("Tell me.", one), ("Tell me.", other)]) == {}
    assert found([(one, "It is so."), (one.replace(" ", "  "), "it is so")]) != {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A well-known bridge - of stone.", "A well known bridge, of stone."),
        ("* one\n* two", "- one\n- two"),
        ("From 2020-2021 on", "From 2020\u20132021 on"),
        ("It is **very** old.", "It is very old."),
    ],
)
def test_dashes_lists_and_emphasis_do_not_count(one, other):
    assert found([(one, "It is so."), (other, "It is so.")]) == {1: (0, 1.0)}


def test_answers_to_one_prompt_are_meant_where_they_are_judged():
    numbers = random.Random(0)
    asked, answered = prose(numbers), prose(numbers)
    near = changed(numbers, answered, 1)
    assert set(found([(asked, answered, "1"), (asked, near, "1")])) == {1}
    assert found([(asked, answered, "!1"), (asked, near, "!1")]) == {}
    assert found([(asked, answered, "!1"), (asked, answered.upper(), "!1")]) != {}
    assert found([(asked, answered, "!1"), (asked.upper(), near, "!1")]) != {}


def test_a_question_with_another_number_has_another_answer():
    tables = prose(random.Random(0), 80)
    rows = [
        (f"Which {at} names of patients are most common?\n{tables}", f"{tables} {at};")
        for at in (76, 33)
    ]
    assert found(rows) == {}
    of_day = [(f"On day {at}: {asked}", said) for at, (asked, said) in enumerate(rows)]
    same = [(asked, rows[0][1]) for asked, _ in of_day]
    assert set(found(same)) == {1}
    assert set(found([rows[0], (rows[0][0].upper(), rows[0][1])])) == {1}


def test_texts_without_spaces_are_compared_by_characters():
    text = "日本語の文章を書きます東京は大きい都市です明日は晴れるでしょう"
    assert re.search(r"\s", text) is None
    rows = [("訳して", text), ("訳して", text + "ね"), ("訳して", text[::-1])]
    assert set(found(rows)) == {1}


def test_the_pass_is_counted():
    numbers = random.Random(0)
    rows = [(prose(numbers), "a")] * 1 + [(prose(numbers), "b")]
    rows.append((rows[0][0].upper(), "A"))
    seen, ticks = [], []
    near = NearRows(stored(rows), RowSet())
    made = near_pass(near, lambda *pair: seen.append(pair), ticks.append)
    assert seen == [(2, 0, 1.0)]
    assert (made.rows, made.pairs, sum(ticks)) == (3, 1, 3)
    assert made.candidates >= 1
    assert made.speed > 0


def test_a_rensa_that_is_missing_or_too_old_is_none(monkeypatch):
    assert minhash() is not None
    monkeypatch.setitem(sys.modules, "rensa", SimpleNamespace(RMinHash=object))
    assert minhash() is None
    monkeypatch.setitem(sys.modules, "rensa", None)
    assert minhash() is None
