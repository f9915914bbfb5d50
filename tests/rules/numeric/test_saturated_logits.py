"""NUM013."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.saturated_logits import SaturatedLogits
from tests.rules.numeric.losses import losses
from tests.runs import only


def check(*rows, **meta):
    return Engine([SaturatedLogits()]).check(losses(*rows, **meta)).findings


SATURATED = {"loss_entropy": 0.04, "token_loss": 364.0, "plain_loss": 4.82}
SCALED = {"factor": 1000.0, "factor_op": "div", "head": "lm_head"}


def test_a_constant_that_saturates_is_found():
    finding = only(check(SATURATED, **SCALED), "error")
    assert finding.places == (Place("op", "div"), Place("module", "lm_head"))
    assert "without it 4.82" in finding.message


@pytest.mark.parametrize(
    "other",
    [
        {"loss_entropy": 1.0},
        {"token_loss": 0.5},
        {"plain_loss": 300.0},
    ],
)
def test_one_sign_alone_proves_nothing(other):
    assert check(SATURATED | other, **SCALED) == ()


@pytest.mark.parametrize("other", [{"factor": 1.0}, {"factor": 0.5}, {"head": ""}])
def test_without_a_constant_on_a_head_s_logits_it_is_quiet(other):
    assert check(SATURATED, **(SCALED | other)) == ()


def test_what_a_run_does_not_hold_is_not_checked():
    from ftlab.runlog.run import Run

    report = Engine([SaturatedLogits()]).check(Run())
    assert [each.code for each in report.not_checked] == ["NUM013"]
