"""Labels of rows: what is one, and whether there are classes."""

import pytest

from ftlab.probes.data.across import labels as labels_module
from ftlab.probes.data.across.labels import Label, Labels, label_of, spelling
from ftlab.probes.data.rows.row_parts import parts_of


def label(row):
    return label_of(row, parts_of(row))


def watched(rows):
    labels = Labels()
    for row in rows:
        labels.add(row, parts_of(row))
    return labels


def talk(*contents):
    roles = ("user", "assistant") * len(contents)
    said = zip(roles, contents, strict=False)
    return {"messages": [{"role": r, "content": c} for r, c in said]}


@pytest.mark.parametrize(
    ("row", "known"),
    [
        ({"text": "Good.", "label": 1, "id": 7}, Label("1", ("Good.",))),
        (
            {"sentence1": "a", "sentence2": "b", "gold_label": "x", "idx": 3},
            Label("x", ("a", "b")),
        ),
        (
            {"question1": "a", "question2": "b", "is_duplicate": 1},
            Label("1", ("a", "b")),
        ),
        ({"text": "Good.", "labels": "good"}, Label("good", ("Good.",))),
        (
            {"prompt": "1+1?", "completion": "2", "label": True},
            Label("True", ("1+1?", "2")),
        ),
        (
            talk("Where?", "There.", "Sure?", "Yes"),
            Label("Yes", ("Where?", "There.", "Sure?")),
        ),
        ({"prompt": "1+1?", "completion": "2"}, Label("2", ("1+1?",))),
        ({"prompt": "?", "completion": "2", "image": "a.png"}, Label("2", None)),
        (
            {"question": "?", "answer": "2", "choices": ["1", "2"]},
            Label("2", ("?", "1\n2")),
        ),
        ({"question": "?", "answer": "2", "table": [[1], [2]]}, Label("2", None)),
        ({"text": "Good.", "label": 1, "aspect": "price"}, Label("1", None)),
    ],
)
def test_a_label_is_a_column_or_the_last_answer(row, known):
    assert label(row) == known


@pytest.mark.parametrize(
    "row",
    [
        {"text": "Good."},
        {"text": "Good.", "label": -1},
        {"text": "Good.", "label": [1, 0]},
        {"prompt": "Where?"},
        {"prompt": "Where?", "completion": ""},
        {"prompt": "Where?", "chosen": "There.", "rejected": "Here."},
        {"input_ids": [1], "labels": [1]},
        talk("Where?"),
    ],
)
def test_other_rows_have_no_label(row):
    assert label(row) is None


def test_classes_are_few_labels_of_nearly_all_rows():
    rows = [{"text": f"{n}", "label": "ab"[n % 2]} for n in range(100)]
    assert watched(rows).classes == ["a", "b"]
    assert watched([*rows, *({"text": "c"} for _ in range(9))]).classes == []
    numbered = [{"text": f"{n}", "label": n // 5} for n in range(100)]
    assert watched(numbered).classes == []


def test_stretches_of_one_label_are_counted():
    rows = [{"text": "x", "label": each} for each in "aabba"]
    assert watched(rows).runs == 3


def test_what_has_no_classes_is_followed_no_further(monkeypatch):
    monkeypatch.setattr(labels_module, "TRIED", 20)
    monkeypatch.setattr(labels_module, "KNOWN", 20)
    rows = [talk("Where?", "There, behind the old bridge " * 3) for _ in range(25)]
    long = watched(rows)
    assert (long.labels, long.asked, long.open) == (None, None, False)
    assert len(long.long) == 25
    many = watched([talk("Which?", f"{n}") for n in range(25)])
    assert (many.labels, many.open, many.counts.total()) == (None, True, 0)


def test_a_label_in_brackets_is_seen_in_any_case():
    texts = ["[A] x", "(a) x", "a x", "[b] x", "[ab] x"]
    labels = watched([{"text": text, "label": "a"} for text in texts])
    assert labels.bracketed.numbers().tolist() == [0, 1]


def test_spellings_differ_in_case_and_spaces():
    assert spelling(" Pandas") == spelling("PANDAS ") != spelling("panda")
