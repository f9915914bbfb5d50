"""Which way a metric is better."""

import math

import pytest

from ftlab.rules.reading.metric_directions import (
    Direction,
    by_loss,
    by_name,
    contradicts,
)

LOSSES = [2.0, 1.6, 1.9]
LOWER, HIGHER = (Direction(greater=each, told_by="name") for each in (False, True))


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        ("eval_perplexity", LOWER),
        ("eval_librispeech-clean_WER", LOWER),
        ("eval_mean_squared_error", LOWER),
        ("eval_f1_macro", HIGHER),
        ("eval/rougeL", HIGHER),
        ("eval_wer_reduction", None),
        ("eval_neg_mse", None),
        ("eval_score", None),
    ],
)
def test_a_name_tells_where_its_last_words_are_known(metric, direction):
    assert by_name(metric) == direction


@pytest.mark.parametrize(
    ("relation", "greater"),
    [(math.exp, False), (lambda loss: -loss, True), (lambda loss: loss + 0.1, None)],
)
def test_a_metric_that_is_computed_of_the_loss_goes_with_it(relation, greater):
    found = by_loss([relation(loss) for loss in LOSSES], LOSSES)
    assert (found and found.greater) == greater


def test_few_losses_and_losses_that_stand_still_tell_nothing():
    assert by_loss([math.exp(loss) for loss in LOSSES[:2]], LOSSES[:2]) is None
    assert by_loss([0.69] * 3, [0.69, 0.6901, 0.6902]) is None


def test_a_metric_that_falls_with_the_loss_is_not_judged():
    assert by_loss([30.0, 25.0, 28.0], LOSSES) is None


@pytest.mark.parametrize(
    ("metric", "values", "turned"),
    [("wer", [-0.4], True), ("perplexity", [0.2], True), ("perplexity", [3.0], False)],
)
def test_values_that_no_such_metric_takes_are_of_another_one(metric, values, turned):
    assert contradicts(LOWER, metric, values) is turned
