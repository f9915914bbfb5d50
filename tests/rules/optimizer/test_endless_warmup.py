"""OPT010."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.optimizer.endless_warmup import EndlessWarmup
from tests.runs import RunBuilder, healthy_lora

LINEAR = {
    "schedule": "_get_linear_schedule_with_warmup_lr_lambda",
    "num_warmup_steps": 10,
    "num_training_steps": 100,
    "base_lrs": [1e-3],
}


def check(asked, kind="LambdaLR", **training):
    schedulers = () if asked is None else ({"class": kind, "asked": asked},)
    builder = RunBuilder().facts(schedulers=schedulers, training=training)
    return Engine([EndlessWarmup()]).check(builder.run).findings


def test_is_quiet_on_healthy_runs():
    assert Engine([EndlessWarmup()]).check(healthy_lora().run).findings == ()
    assert check(LINEAR) == ()
    assert check(LINEAR, max_steps=100) == ()
    assert check(LINEAR | {"num_warmup_steps": 0}) == ()
    assert check({"total_iters": 5, "start_factor": 0.1, "end_factor": 1.0}) == ()


def test_longer_than_its_own_schedule():
    (finding,) = check(LINEAR | {"num_warmup_steps": 400})
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "past-the-plan"
    assert finding.evidence["share"] == pytest.approx(99 / 400)
    assert finding.place == Place("config", "num_warmup_steps")
    assert finding.first_step == -1


def test_longer_than_the_run():
    (finding,) = check(LINEAR, max_steps=8)
    assert finding.evidence["reason"] == "past-the-run"
    assert finding.evidence["share"] == pytest.approx(0.7)
    warm = {"class": "LinearLR", "start_factor": 0.1, "end_factor": 1.0}
    warm |= {"total_iters": 50, "base_lrs": [1.0]}
    parts = [warm, {"class": "ExponentialLR", "gamma": 0.9, "base_lrs": [1.0]}]
    asked = {"schedulers": parts, "milestones": [50]}
    (finding,) = check(asked, "SequentialLR", max_steps=20)
    assert finding.place == Place("config", "milestones")
    assert check(asked, "SequentialLR", max_steps=200) == ()


def test_a_share_where_steps_are_counted():
    (finding,) = check(LINEAR | {"num_warmup_steps": 0.03})
    assert finding.evidence["reason"] == "fraction"


def test_the_arguments_of_a_trainer_without_a_scheduler():
    args = {"lr_scheduler_type": "cosine", "warmup_steps": 100}
    (finding,) = check(None, args=args, max_steps=40)
    assert finding.place == Place("config", "warmup_steps")
    assert check(None, args=args | {"warmup_steps": 0.1}, max_steps=40) == ()


def test_several_steps_of_the_scheduler_for_each_update():
    step = ("step", "optimizer 0", {})
    moves = ("scheduler_step", "scheduler 0", {"lr_before": [0.0], "lr_after": [0.1]})
    builder = RunBuilder().facts(
        schedulers=({"class": "LambdaLR", "asked": LINEAR},), training={"max_steps": 8}
    )
    for _ in range(4):
        builder.step(ops=("forward", "backward", step, moves, moves))
    assert Engine([EndlessWarmup()]).check(builder.run).findings == ()
