"""OPT028."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.optimizer.schedule_never_moves import ScheduleNeverMoves
from tests.runs import RunBuilder, healthy_lora

RESTARTS = {"T_0": 1, "T_mult": 1, "eta_min": 0.0, "base_lrs": [1e-3]}
SHARES = {"milestones": [0.5, 0.75], "gamma": 0.1, "base_lrs": [1e-3]}
WARM, STEPPED = "CosineAnnealingWarmRestarts", "MultiStepLR"


def check(kind, asked, rates=(1e-3,) * 4, epochs=(1, 2, 3)):
    facts = ({"class": kind, "optimizer_index": 0, "asked": asked},)
    builder = RunBuilder().facts(schedulers=facts)
    for now, then, epoch in zip(rates, rates[1:], epochs, strict=False):
        detail = {"lr_before": [now], "lr_after": [then], "epoch": epoch}
        moves = ("scheduler_step", "scheduler 0", detail)
        builder.step(ops=("forward", "backward", ("step", "optimizer 0", {}), moves))
    return Engine([ScheduleNeverMoves()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([ScheduleNeverMoves()]).check(healthy_lora().run).findings == ()


def test_a_restart_at_each_step():
    (finding,) = check(WARM, RESTARTS)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "T_0")
    assert finding.evidence["reason"] == "restarts-at-each-step"
    assert "T_0=1 has made 3 steps, but the rate stays at 0.001" in finding.message


def test_milestones_in_shares():
    (finding,) = check(STEPPED, SHARES)
    assert finding.place == Place("config", "milestones")
    assert finding.evidence["reason"] == "milestones-in-shares"
    assert "milestones=[0.5, 0.75]" in finding.message


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (WARM, RESTARTS | {"T_0": 4}),
        (WARM, RESTARTS | {"T_mult": 2}),
        (WARM, RESTARTS | {"eta_min": 1e-3}),
        (STEPPED, SHARES | {"gamma": 1.0}),
        (STEPPED, SHARES | {"milestones": [0.5, 30.0]}),
        (STEPPED, SHARES | {"milestones": []}),
        ("ConstantLR", {"factor": 1.0, "base_lrs": [1e-3]}),
        ("LambdaLR", {"base_lrs": [1e-3]}),
    ],
)
def test_what_may_move_or_is_constant_on_purpose_is_quiet(kind, asked):
    assert check(kind, asked) == ()


def test_fractions_of_an_epoch_move_the_rate():
    assert check(WARM, RESTARTS, rates=(1e-3, 9e-4, 5e-4, 1e-3)) == ()


def test_takes_three_steps_of_the_count():
    assert check(WARM, RESTARTS, epochs=(1, 2)) == ()
    assert check(WARM, RESTARTS, epochs=(1, 1, 1)) == ()
