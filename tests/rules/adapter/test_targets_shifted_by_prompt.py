"""ADP049."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.targets_shifted_by_prompt import TargetsShiftedByPrompt
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

PROMPT = {"peft": {"default": {"num_virtual_tokens": 6}}}


def check(early, right, steps=2):
    builder = RunBuilder().facts(model=PROMPT)
    for _ in range(steps):
        shares = {"prompt_targets_right": right, "prompt_targets_early": early}
        builder.step(values={"prompt_targets": 60.0} | shares)
    return Engine([TargetsShiftedByPrompt()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([TargetsShiftedByPrompt()]).check(healthy_lora().run).findings == ()


def test_targets_that_stand_a_prompt_early_are_an_error():
    (finding,) = check(early=1.0, right=0.03)
    assert finding.severity is Severity.ERROR
    assert finding.place == Place("config", "num_virtual_tokens")
    assert "100% of the positions are taught the token 6 positions" in finding.message


@pytest.mark.parametrize(("early", "right"), [(0.03, 1.0), (0.03, 0.03), (1.0, 1.0)])
def test_other_shares_tell_nothing(early, right):
    assert check(early, right) == ()


def test_one_step_proves_nothing():
    assert check(1.0, 0.0, steps=1) == ()
