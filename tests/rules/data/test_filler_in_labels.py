"""DAT041."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.filler_in_labels import FillerInLabels
from ftlab.rules.engine import Engine
from tests.rules.data.rows import row, run_of, text
from tests.rules.numeric.losses import losses

RULE = FillerInLabels()
FILLER = {
    "common_label": 0.0,
    "common_share": 0.4,
    "common_read": 0.0,
    "label_next": 0.6,
}
SINGLE = {**FILLER, "common_label": 9.0, "common_share": 1.0, "common_read": 0.3}


def check(*columns, **settings):
    return Engine([RULE]).check(losses(*columns, **settings)).findings


def test_a_filler_where_the_text_has_others():
    (finding,) = check(FILLER, FILLER)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "filler"
    assert "40 % of the labels are token 0, where" in finding.message


@pytest.mark.parametrize(
    "change",
    [
        {"common_share": 0.05, "label_next": 0.95},
        {"common_read": 0.2},
        {"label_next": 0.3},
        {"label_next": 1.0},
        {"label_next": 0.9},
        {"label_next": float("nan")},
        {"common_share": float("nan")},
    ],
)
def test_common_words_and_labels_of_another_kind_are_healthy(change):
    assert check(FILLER | change) == ()


def test_one_step_without_it_is_healthy():
    assert check(FILLER, FILLER | {"common_read": 0.4}) == ()


def test_labels_that_are_one_token():
    labels = {"labels": 40.0, "batch_size": 8.0}
    (finding,) = check(SINGLE, values=labels)
    assert finding.evidence["reason"] == "single"


@pytest.mark.parametrize(("labels", "classes"), [(8.0, 128), (40.0, 10)])
def test_one_class_for_each_row_is_healthy(labels, classes):
    values = {"labels": labels, "batch_size": 8.0}
    assert check(SINGLE, values=values, classes=classes) == ()


def test_a_text_of_one_token_has_labels_of_one_token():
    values = {"labels": 40.0, "batch_size": 8.0}
    dummy = SINGLE | {"common_read": 1.0, "label_next": 1.0}
    assert check(dummy, values=values) == ()


def test_the_first_such_label_of_each_sample_is_its_place():
    ids = text(12)
    late = [*ids[:5], 0, 0, *ids[7:]]
    run = losses(FILLER)
    for event in run_of([row(ids, late), row(ids), row(text(9, 30), [0] * 9)]).events:
        run.append(event)
    (finding,) = Engine([RULE]).check(run).findings
    tokens = [each for each in finding.places if each.kind == "token"]
    assert tokens == [Place("token", "5 of sample 0"), Place("token", "0 of sample 2")]


def test_without_a_cross_entropy_it_is_open():
    report = Engine([RULE]).check(run_of([row(text(9))]))
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [RULE.code]
