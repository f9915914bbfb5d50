"""Equal rows are found, whatever the size of the blocks, and different ones are not."""

import random

import numpy as np
import pytest

from ftlab.probes.data.rows import row_keys
from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.rows.row_keys import KeyFile, frozen, prompt_key, row_key
from ftlab.probes.data.text_store import compared


@pytest.mark.parametrize(("block", "at_once"), [(1 << 16, 1 << 22), (64, 200)])
def test_repeated_rows_are_those_a_dictionary_finds(monkeypatch, block, at_once):
    monkeypatch.setattr(row_keys, "BLOCK", block)
    monkeypatch.setattr(row_keys, "AT_ONCE", at_once)
    numbers = random.Random(0)
    keys = [numbers.randrange(-400, 400) for _ in range(1000)]
    first, expected = {}, {}
    for row, key in enumerate(keys):
        if key in first:
            expected[row] = first[key]
        first.setdefault(key, row)
    file = KeyFile()
    for key in keys[:500]:
        file.append(key)
    file.extend(np.array(keys[500:]))
    found = {
        row: before
        for rows, firsts in file.repeated()
        for row, before in zip(rows.tolist(), firsts.tolist(), strict=True)
    }
    assert found == expected
    assert sum(1 for _ in file.repeated()) == 1 + 1000 // at_once
    known = np.array(sorted(set(keys[:7])))
    held = [
        (row, known[at])
        for rows, places in file.among(known)
        for row, at in zip(rows.tolist(), places.tolist(), strict=True)
    ]
    assert held == [(row, key) for row, key in enumerate(keys) if key in known]
    assert list(file.among(np.empty(0, np.int64))) == []
    file.close()


def test_an_empty_file_repeats_nothing():
    assert [rows.tolist() for rows, _ in KeyFile().repeated()] == [[]]


def key(row):
    return row_key(parts_of(row))


def test_only_what_is_learnt_tells_rows_apart():
    row = {"prompt": "Say it.", "completion": "It."}
    assert key(row) == key(row | {"id": 7})
    assert key(row) != key(row | {"completion": "it."})
    assert key({"text": "a", "label": 0}) != key({"text": "a", "label": 1})
    assert key(row | {"image": b"1"}) != key(row | {"image": b"2"})
    assert key({"input_ids": [1, -1]}) != key({"input_ids": [1, -2]})
    talk = {"messages": [{"role": "user", "content": "a"}]}
    other = {"messages": [{"role": "assistant", "content": "a"}]}
    assert key(talk) != key(other)


def test_prompts_are_the_same_whatever_the_answer():
    row = {"prompt": "Tell me about the sky above.", "completion": "It."}
    same = prompt_key(parts_of(row | {"completion": "No."}))
    assert prompt_key(parts_of(row)) == same
    assert prompt_key(parts_of({"prompt": "Hi", "completion": "a"})) is None
    assert prompt_key(parts_of({"text": "long enough to be a prompt"})) is None


ASKED = {"question": "How many rows has the table?", "answer": "1"}
OTHERS = [
    ("table", {"rows": [["1"]]}, {"rows": [["2"]]}),
    ("documents", ["It has one."], ["It holds one."]),
    ("choices", ["1", "2"], ["1", "3"]),
    ("passage", "It has one.", "It holds one."),
]
ASIDE = [
    ("id", 1, 2),
    ("source", "a", "b"),
    ("url", "https://a.de/1", "https://a.de/2"),
    ("metadata", {"at": 1}, {"at": 2}),
    ("metadata", '{"at": "one of two and three of four and five of six"}', "{}"),
    ("created_at", "2024-01-01", "2024-01-02"),
    ("table", float("nan"), None),
]


@pytest.mark.parametrize(("name", "one", "other"), OTHERS)
def test_what_a_row_holds_beyond_what_is_read_tells_it_apart(name, one, other):
    assert key(ASKED | {name: one}) != key(ASKED | {name: other})
    asked = [prompt_key(parts_of(ASKED | {name: each})) for each in (one, other)]
    assert asked[0] != asked[1]
    assert compared(parts_of(ASKED | {name: one})) != compared(
        parts_of(ASKED | {name: other})
    )


@pytest.mark.parametrize(("name", "one", "other"), ASIDE)
def test_books_that_are_kept_of_rows_tell_none_apart(name, one, other):
    assert key(ASKED | {name: one}) == key(ASKED | {name: other})
    assert compared(parts_of(ASKED | {name: one})) == compared(
        parts_of(ASKED | {name: other})
    )


def test_what_belongs_to_the_answer_asks_nothing_else():
    said = ("It has one, as one can see in it.", "Only one, as one can see in it.")
    one, other = (ASKED | {"rationale": each} for each in said)
    assert key(one) != key(other)
    assert prompt_key(parts_of(one)) == prompt_key(parts_of(other))


def test_columns_in_another_order_are_the_same():
    one = ASKED | {"table": [[1]], "rows": [[2]]}
    assert key(one) == key(dict(reversed(one.items())) | ASKED)


def test_values_of_all_kinds_are_frozen():
    values = [[1, 2], [1.5, "a"], {"a": [1]}, np.arange(3), b"x", None]
    made = [frozen(value) for value in values]
    assert len({hash(each) for each in made}) == len(values)
    assert frozen([1, 2]) == frozen([1, 2])
    assert frozen({"a": {3}}) != frozen({"a": {3}})


def test_arrays_are_the_same_where_they_hold_the_same():
    assert frozen(np.arange(3)) == frozen([0, 1, 2])
    made = [np.array([[b"a" * 90], {}], object) for _ in range(2)]
    assert frozen(made[0]) == frozen(made[1])
    assert frozen(np.zeros((2, 3))) != frozen(np.zeros((3, 2)))


def test_rows_with_other_labels_are_not_the_same():
    row = {"prompt": "1+1?", "completion": "2"}
    keys = [
        row_key(parts_of(row | {"label": label})) for label in (True, False, True, None)
    ]
    assert keys[0] == keys[2] != keys[1]
    assert keys[3] == row_key(parts_of(row))
