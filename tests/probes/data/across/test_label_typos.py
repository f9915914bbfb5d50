"""Misspelt labels, and rare classes that only look like them."""

import pytest

from ftlab.probes.data.across.label_reports import report_labels
from ftlab.probes.data.across.label_typos import misspelt
from tests.probes.data.scanned import rows_with, scanned

CLASSES = {"positive": 400, "negative": 300, "neutral": 200}


@pytest.mark.parametrize(
    "wrong", ["postive", "possitive", "posotive", "psoitive", "positve"]
)
def test_a_letter_that_is_lost_doubled_wrong_or_misplaced_is_found(wrong):
    counts = {**CLASSES, wrong: 5, "nuetral": 2}
    assert misspelt(counts) == {wrong: "positive", "nuetral": "neutral"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"postive": 5},
        {"postive": 5, "nuetral": 2, "mixed": 3},
        {"postive": 5, "nuetral": 40},
        {"positives": 5, "negatives": 5},
        {"neutra": 5, "negativ": 5},
        {"aneutral": 5, "inegative": 5},
        {"ngtve": 5, "ptive": 5},
    ],
)
def test_is_silent_on_rare_classes_and_other_words(more):
    assert misspelt({**CLASSES, **more}) == {}


@pytest.mark.parametrize(
    "counts",
    [
        {"house": 500, "tree": 400, "horse": 20},
        {"house": 500, "plane": 400, "horse": 20, "plate": 9, "cat": 30},
        {"label_1": 300, "label_2": 300, "label_3": 9, "label_4": 3},
        {"3 errors": 300, "4 errors": 9, "5 errors": 2},
        {"yes": 300, "no": 300, "ye": 2, "on": 2},
        {},
    ],
)
def test_is_silent_on_classes_that_are_alike(counts):
    assert misspelt(counts) == {}


@pytest.mark.parametrize("cut", ["pos", "pos.", "posi"])
def test_labels_that_are_cut_are_found(cut):
    counts = {**CLASSES, cut: 70, "neg": 60, "nuetral": 2}
    right = {cut: "positive", "neg": "negative", "nuetral": "neutral"}
    assert misspelt(counts) == right


@pytest.mark.parametrize(
    "counts",
    [
        {"javascript": 500, "python": 400, "java": 90, "rust": 60},
        {"javascript": 500, "python": 400, "java": 90},
        {"positive": 400, "negative": 300, "pos": 150, "neg": 60},
        {"sports": 400, "movies": 300, "sport": 20, "movie": 20},
        {"negative": 400, "negotiable": 300, "neg": 9, "nego": 9},
        {"positive": 400, "negative": 300, "po": 9, "ne": 9},
    ],
)
def test_a_beginning_may_be_another_class(counts):
    assert misspelt(counts) == {}


def test_rows_with_a_misspelt_label_are_told_with_the_right_one():
    labels = [*["positive", "negative"] * 80, "postive", "Negatvie", "negative"]
    scan = scanned(
        [{"text": f"Text {at}.", "label": each} for at, each in enumerate(labels)]
    )
    report_labels(scan, whole=True)
    assert rows_with(scan, "label-spelt-apart") == [160, 161]
    (first, second) = scan.findings.spots["label-spelt-apart"]
    assert (first.says, second.says) == (
        "'postive', and 'positive' elsewhere",
        "'Negatvie', and 'negative' elsewhere",
    )
