"""NUM014."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.misaligned_labels import MisalignedLabels
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


def test_the_next_token_is_healthy_also_where_tokens_repeat():
    assert check({}, {}) == ()
    assert check({"label_same": 1.0}, {"label_same": 1.0}) == ()


def test_masked_words_are_explained_by_no_offset():
    masked = {"label_next": 0.0, "label_same": 0.1}
    assert check(masked, masked) == ()


def test_one_step_proves_nothing_and_one_healthy_step_counts():
    assert check(only("same")) == ()
    assert check(only("same"), {}, only("same")) == ()
