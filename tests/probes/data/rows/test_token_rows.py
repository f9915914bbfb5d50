"""Rows of token ids, faulty and healthy."""

import numpy as np
import pytest
import torch

from ftlab.probes.data.rows.token_rows import token_faults
from tests.probes.data.scanned import rows_with, scanned
from tests.probes.tokens import vocabularies

IDS = [5, 6, 7]


def faults(size=0, **row):
    return [(name, column) for name, column, _ in token_faults(row, size)]


LONG = [1, 5, 6, 7, 6, 2, 0, 0]


@pytest.mark.parametrize(
    "labels",
    [
        [5, 6, 7, 6, 2, 0, 0, -100],
        [-100, -100, 7, 6, 2, -100, -100, -100],
        [-100, -100, 7, 6, 2, -100, -100, 0],
    ],
)
@pytest.mark.parametrize("form", [list, np.array, torch.tensor])
def test_labels_that_are_shifted_already_are_found(labels, form):
    row = {"input_ids": form(LONG), "labels": form(labels)}
    assert faults(**row) == [("labels-shifted", "labels")]


@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        (LONG, LONG),
        (LONG, [-100, -100, 6, 7, 6, 2, -100, -100]),
        (LONG, [-100, -100, 7, 6, 2, 2, -100, -100]),
        (LONG, [0, 1, 5, 6, 7, 6, 2, 0]),
        (LONG, [-100, -100, -100, -100, 2, -100, -100, -100]),  # a single token
        ([1, 4, 4, 4, 4, 4, 2], [-100, 4, 4, 4, 4, -100, -100]),
        ([1, 5, 6, 7], [5, 6, 7]),  # of a model that reads one text and writes another
        ([1, 5, 6, 7, 2], [-100] * 4 + [2]),
    ],
)
def test_other_labels_are_in_order(ids, labels):
    assert faults(input_ids=ids, labels=labels) == []


@pytest.mark.parametrize("form", [list, tuple, np.array, torch.tensor])
def test_faults_are_found_in_every_form_of_numbers(form):
    row = {"input_ids": form(IDS), "labels": form([-100] * 3)}
    row["attention_mask"] = form([1, 1])
    assert faults(7, **row) == [
        ("nothing-in-labels", "labels"),
        ("id-beyond-vocabulary", "input_ids[2]"),
        ("lengths-disagree", "attention_mask"),
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"input_ids": IDS, "labels": IDS, "attention_mask": [1, 1, 1]},
        {"input_ids": IDS, "labels": [9], "attention_mask": [1, 1, 1]},
        {"input_ids": IDS, "labels": 1},
        {"input_ids": IDS, "labels": [], "attention_mask": None},
        {"input_ids": [5, -200, 7], "labels": [-100, -100, 7]},
        {"input_ids": [], "labels": []},
        {"input_ids": [IDS, IDS], "attention_mask": [1]},
        {"input_ids": IDS, "position_ids": [[0, 1, 2]], "attention_mask": [[1] * 3]},
    ],
)
def test_is_silent_on_healthy_rows(row):
    assert faults(8, **row) == []


def test_an_id_below_zero_is_found():
    assert faults(input_ids=[5, -100, 7]) == [("id-beyond-vocabulary", "input_ids[1]")]


def test_a_scan_holds_ids_against_the_tokenizer():
    tokenizer = vocabularies.byte_level()
    size = max(tokenizer.get_vocab().values()) + 1
    rows = [{"input_ids": [1, size - 1]}, {"input_ids": [1, size]}]
    scan = scanned(rows, tokenizer)
    assert rows_with(scan, "id-beyond-vocabulary") == [1]
    scan.close()
    scan = scanned(rows)
    assert rows_with(scan, "id-beyond-vocabulary") == []
    scan.close()


SEEN = [1, 1, 1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("form", [list, np.array, torch.tensor])
def test_labels_of_padding_are_found(form):
    row = {"input_ids": LONG, "labels": LONG, "attention_mask": SEEN}
    row = {name: form(value) for name, value in row.items()}
    assert faults(**row) == [("padding-in-labels", "labels[6]")]
    first = {"input_ids": [0, 0, 5], "labels": [0, 0, 5], "attention_mask": [0, 0, 1]}
    assert faults(**first) == [("padding-in-labels", "labels[0]")]


@pytest.mark.parametrize(
    "row",
    [
        {"labels": [*LONG[:6], -100, -100], "attention_mask": SEEN},
        {"labels": [*LONG[:7], -100], "attention_mask": SEEN},
        {"labels": LONG},
        {"labels": LONG, "attention_mask": [1] * 8},
        {"labels": [5, 6], "attention_mask": SEEN},
        {"attention_mask": SEEN},
    ],
    ids=["ignored", "an end", "no mask", "all seen", "another text", "no labels"],
)
def test_labels_of_what_is_seen_are_left_in_peace(row):
    assert faults(input_ids=LONG, **row) == []
