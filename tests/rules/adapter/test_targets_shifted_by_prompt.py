"""ADP049."""

import pytest

from ftlab.rules.adapter.targets_shifted_by_prompt import TargetsShiftedByPrompt
from tests.runs import RunBuilder, found_by, only

EARLY = (1.0, 0.03)
"""Shares of positions: taught what comes a prompt later, and what follows."""


def check(*steps, tokens=6):
    model = {"peft": {"default": {"num_virtual_tokens": tokens}}}
    builder = RunBuilder().facts(model=model)
    for early, right in steps:
        shares = {"prompt_targets_right": right, "prompt_targets_early": early}
        builder.step(values={"prompt_targets": 60.0} | shares)
    return found_by(TargetsShiftedByPrompt(), builder.run)


def test_targets_that_stand_a_prompt_early_are_an_error():
    finding = only(check(EARLY, (0.95, 0.01)), "error", "config num_virtual_tokens")
    assert (
        "95% of the positions are trained on the token 6 positions" in finding.message
    )
    assert (finding.evidence["early"], finding.evidence["right"]) == (0.95, 0.03)


@pytest.mark.parametrize("other", [(0.03, 1.0), (0.03, 0.03), (1.0, 1.0)])
def test_other_shares_at_a_step_tell_nothing(other):
    assert check(other, other) == check(EARLY, other) == ()


def test_one_step_proves_nothing():
    assert check(EARLY) == ()


def test_a_model_without_a_prompt_is_left_out():
    assert check(EARLY, EARLY, tokens=None) == ()
