"""NUM015."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.not_what_the_loss_takes import NotWhatTheLossTakes
from tests.rules.numeric.losses import losses
from tests.runs import only


def check(*rows, **meta):
    return Engine([NotWhatTheLossTakes()]).check(losses(*rows, **meta)).findings


@pytest.mark.parametrize("op", ["softmax", "sigmoid"])
def test_probabilities_before_a_cross_entropy_are_found(op):
    finding = only(check({}, of=op), "error")
    assert finding.place == Place("op", op)
    assert ("3.87" in finding.message) == (op == "softmax")


def test_a_sigmoid_before_a_binary_cross_entropy_is_found():
    binary = {"loss": "binary_cross_entropy_with_logits", "normalised": False}
    only(check({}, of="sigmoid", **binary), reason="probabilities")
    assert check({}, of="mm", **binary) == ()


def test_a_likelihood_of_scores_is_found():
    only(check({"log_total": 4.8}, normalised=False), "error", reason="scores")


def test_log_probabilities_by_another_way_are_healthy():
    assert check({"log_total": 1e-6}, normalised=False, of="log") == ()


def test_a_likelihood_of_probabilities_is_a_note():
    only(check({"log_total": 4.8}, normalised=False, of="softmax"), "info")


def test_logits_are_healthy():
    assert check({}, {}) == ()


DIVERGENCE = {"loss": "kl_div", "normalised": False}


@pytest.mark.parametrize(
    ("op", "reason"),
    [("softmax", "probabilities"), ("sigmoid", "probabilities"), ("mm", "scores")],
)
def test_a_divergence_of_what_is_no_log_probability_is_found(op, reason):
    finding = only(check({"off_total": 1e-6}, of=op, **DIVERGENCE), "error")
    assert finding.places == (Place("op", "kl_div"), Place("op", op))
    assert finding.evidence["reason"] == reason


@pytest.mark.parametrize(
    ("off", "meta"),
    [
        (1e-6, {"normalised": True, "of": "mm"}),
        (1e-6, {"of": "log"}),
        (1e-6, {"of": "log_sigmoid"}),
        (0.4, {"of": "softmax"}),
        (float("nan"), {"of": "softmax"}),
    ],
)
def test_logarithms_and_what_is_no_divergence_are_healthy(off, meta):
    assert check({"off_total": off}, **(DIVERGENCE | meta)) == ()
