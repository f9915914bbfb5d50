"""ENV005."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.environment.smoothed_targets_unshifted import (
    SmoothedTargetsUnshifted,
)
from tests.rules.environment.trainers import found

SMOOTHED = {"label_smoothing_factor": 0.1}


def check(smoothing, args=SMOOTHED):
    made = {"smoothing": smoothing}
    return found(SmoothedTargetsUnshifted(), args=args, made=made)


def test_the_smoothed_loss_does_not_shift():
    (finding,) = check("unshifted")
    assert finding.severity is Severity.ERROR
    assert finding.place == Place("config", "label_smoothing_factor")
    assert "LlavaForConditionalGeneration" in finding.message


def test_what_is_applied_or_unknown_is_left_in_peace():
    assert check("applied") == check("own-loss") == check("") == ()
    assert check("unshifted", {"label_smoothing_factor": 0.0}) == ()
