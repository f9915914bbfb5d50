"""Labels that a training breaks on, and those that it takes."""

import pytest

from ftlab.probes.data.across.labels import Labels
from ftlab.probes.data.rows.formats import parts_of


def found(rows, whole=True):
    labels = Labels()
    for at, row in enumerate(rows):
        labels.look(at, row, parts_of(row))
    told = list(labels.found(len(rows), whole=whole))
    return {each.name for each in told}, [each.row for each in told]


def texts(labels, name="label"):
    return [{"text": f"Mail {at}.", name: label} for at, label in enumerate(labels)]


def asked(answers):
    pairs = enumerate(answers)
    return [{"prompt": f"Mail {at}?", "completion": answer} for at, answer in pairs]


@pytest.mark.parametrize(
    "rows",
    [
        texts(["billing"] * 60),
        texts([1] * 60, "labels"),
        asked(["yes"] * 60),
        [row | {"label": True} for row in asked(map(str, range(60)))],
    ],
)
def test_one_label_for_all_rows_is_found(rows):
    assert found(rows) == ({"one-label"}, list(range(60)))
    assert found(rows, whole=False)[1] == []


@pytest.mark.parametrize(
    "rows",
    [
        texts(["billing"] * 49),
        texts(["billing"] * 59 + ["refund"]),
        [*texts(["billing"] * 59), {"text": "Mail."}],
        asked(["A long answer that is no label, and is given to all of them."] * 60),
        [row | {"image": "a.png"} for row in asked(["yes"] * 60)],
    ],
)
def test_other_labels_tell_something_apart(rows):
    assert found(rows)[1] == []


def test_minus_one_beside_classes_is_found():
    rows = texts([0, 1, 2] * 20 + [-1] * 3)
    assert found(rows) == ({"label-of-none"}, [60, 61, 62])


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1] * 20 + [-1] * 3,
        [0, 1, 2] * 20 + [-1] * 10,
        [1, 2, 3] * 20 + [-1] * 3,
        [-2, 0, 1, 2] * 20 + [-1] * 3,
    ],
)
def test_it_may_be_a_class(labels):
    assert found(texts(labels))[1] == []


def test_a_list_of_another_length_is_found():
    rows = texts([[0, 1, 0]] * 40 + [[0, 1]], "labels")
    assert found(rows) == ({"label-of-other-length"}, [40])


@pytest.mark.parametrize(
    "labels",
    [
        [[0, 1]] * 40 + [[0]],
        [[0, 1, 0]] * 40 + [[0, 1]] * 10,
        [[0, 1, 0]] * 19 + [[0, 1]],
        [[0, 1, 5]] * 40 + [[0, 1]],
    ],
)
def test_lists_may_be_numbers_of_classes(labels):
    assert found(texts(labels, "labels"))[1] == []
