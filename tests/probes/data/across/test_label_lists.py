"""Labels that are lists: places for classes, and tags that go on with others."""

import pytest

from ftlab.probes.data.across.label_reports import report_labels
from tests.probes.data.scanned import rows_with, scanned

WORDS = ["Ann", "Lee", "ran", "to", "York"]
RIGHT = ["B-PER", "I-PER", "O", "O", "B-LOC"]


def told(rows, name):
    scan = scanned(rows)
    report_labels(scan, whole=False)
    return rows_with(scan, name), scan.findings.spots.get(name, [])


def places(labels, count=40, **more):
    rows = [
        {"text": f"Bridge {at}.", "labels": [0, 1, 0]} | more for at in range(count)
    ]
    rows[7]["labels"] = labels
    return rows


@pytest.mark.parametrize("labels", [[1, 0], [1, 0, 0, 0], [], [0.0, 1.0]])
def test_a_list_of_another_length_than_the_others_is_found(labels):
    rows, (spot,) = told(places(labels), "label-of-other-length")
    assert rows == [7]
    assert spot.says == f"{len(labels)} places, and 3 elsewhere"
    assert spot.column == "labels"


@pytest.mark.parametrize(
    "rows",
    [
        places([0, 0, 1]),
        places([1, 0], 15),
        places([2, 0]),
        places([1], text="It is old."),
        places([1], sentences=["a", "b", "c"]),
        [{"text": f"Bridge {at}.", "labels": [0, 1][: at % 3]} for at in range(60)],
        [{"text": f"{at}.", "labels": [0, 1, 0, 0][: 3 + at % 2]} for at in range(60)],
        [{"text": f"{at}.", "labels": [0] * (3 + at % 20)} for at in range(60)],
    ],
    ids=["alike", "few", "classes", "words", "sentences", "short", "half", "many"],
)
def test_lists_may_differ_where_they_are_no_places(rows):
    assert told(rows, "label-of-other-length")[0] == []


def tagged(tags, usual=RIGHT, count=60):
    rows = [{"tokens": WORDS, "ner_tags": list(usual)} for _ in range(count)]
    rows[7]["ner_tags"] = tags
    return rows


@pytest.mark.parametrize(
    ("tags", "says"),
    [
        (["B-PER", "I-LOC", "O", "O", "O"], "'I-LOC' behind 'B-PER'"),
        (["O", "I-PER", "I-PER", "O", "O"], "'I-PER' behind 'O'"),
    ],
)
def test_a_tag_that_goes_on_with_nothing_is_found(tags, says):
    rows, (spot,) = told(tagged(tags), "tag-of-no-beginning")
    assert rows == [7]
    assert (spot.column, spot.says) == ("ner_tags[1]", says)


IOB1 = ["O", "I-PER", "I-PER", "O", "I-LOC"]


@pytest.mark.parametrize(
    "rows",
    [
        tagged(["O", "B-PER", "I-PER", "I-PER", "O"]),
        tagged(["I-PER", "I-PER", "O", "O", "B-LOC"]),
        tagged(IOB1, IOB1),
        [*tagged(IOB1), {"tokens": ["Ann"], "ner_tags": ["S-PER"]}],
        tagged(IOB1, count=15),
        tagged(["O", "I", "O", "O", "O"], ["N", "V", "O", "O", "N"]),
        tagged(["O", 3, "I-PER", "O", "O"]),
    ],
    ids=["right", "cut", "iob1", "bioes", "few", "other", "number"],
)
def test_tags_of_other_notations_are_in_order(rows):
    assert told(rows, "tag-of-no-beginning")[0] == []
