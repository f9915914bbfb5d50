"""NUM014."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.misaligned_labels import MisalignedLabels
from tests.rules.data.rows import row, run_of
from tests.rules.numeric.losses import losses


def check(*rows, **meta):
    return Engine([MisalignedLabels()]).check(losses(*rows, **meta)).findings


def only(offset):
    return {"label_next": 0.0, f"label_{offset}": 1.0}


@pytest.mark.parametrize("offset", ["same", "after", "before"])
def test_each_other_offset_is_found(offset):
    (finding,) = check(only(offset), only(offset))
    assert finding.severity is Severity.ERROR
    assert finding.evidence["reason"] == offset
    assert finding.place == Place("data", "labels")


@pytest.mark.parametrize("offset", ["same", "after"])
def test_a_model_that_does_not_generate_may_mean_it(offset):
    (finding,) = check(only(offset), only(offset), causal=False)
    assert finding.severity is Severity.INFO
    assert ("after the masking" in finding.cause) == (offset == "same")


def test_the_next_token_is_healthy_also_where_tokens_repeat():
    assert check({}, {}) == ()
    assert check({"label_same": 1.0}, {"label_same": 1.0}) == ()


def test_masked_words_are_explained_by_no_offset():
    masked = {"label_next": 0.0, "label_same": 0.1}
    assert check(masked, masked) == ()


def test_one_step_proves_nothing_and_one_healthy_step_counts():
    assert check(only("same")) == ()
    assert check(only("same"), {}, only("same")) == ()


def seen(labels, ids=(5, 6, 7, 8), offset="after"):
    run = losses(only(offset), only(offset))
    rows = run_of([row(list(ids), labels)]).events
    run.append(next(each for each in rows if each.kind == "rows"))
    (finding,) = Engine([MisalignedLabels()]).check(run).findings
    return finding


def test_samples_are_named_whose_labels_were_shifted_by_the_data():
    finding = seen([6, 7, 8, -100])
    assert Place("sample", "0") in finding.places
    assert "one position ahead of the ids" in finding.cause


def test_a_loss_that_shifts_twice_is_no_matter_of_the_samples():
    for labels in ("all", [1, 2, 3, 4]):
        finding = seen(labels)
        assert Place("sample", "0") not in finding.places
        assert "data or the loop" in finding.cause


def test_samples_of_one_token_again_and_again_are_no_evidence():
    finding = seen([5, 5, 5, -100], ids=(5, 5, 5, 5))
    assert Place("sample", "0") not in finding.places


def test_tokens_that_are_read_are_no_matter_of_the_samples():
    finding = seen([6, 7, 8, -100], offset="same")
    assert Place("sample", "0") not in finding.places
