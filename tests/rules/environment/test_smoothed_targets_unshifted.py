"""ENV005."""

from ftlab.rules.environment.smoothed_targets_unshifted import SmoothedTargetsUnshifted
from tests.rules.environment.trainers import found
from tests.runs import only

SMOOTHED = {"label_smoothing_factor": 0.1}


def check(smoothing, args=SMOOTHED):
    made = {"smoothing": smoothing}
    return found(SmoothedTargetsUnshifted(), args=args, made=made)


def test_the_smoothed_loss_does_not_shift():
    finding = only(check("unshifted"), "error", "config label_smoothing_factor")
    assert "LlavaForConditionalGeneration" in finding.message


def test_what_is_applied_or_unknown_is_left_in_peace():
    assert check("applied") == check("own-loss") == check("") == ()
    assert check("unshifted", {"label_smoothing_factor": 0.0}) == ()
