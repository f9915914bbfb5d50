"""OPT012."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.optimizer.schedule_longer_than_run import ScheduleLongerThanRun
from tests.runs import RunBuilder, healthy_lora

LINEAR = {
    "schedule": "_get_linear_schedule_with_warmup_lr_lambda",
    "num_warmup_steps": 0,
    "num_training_steps": 400,
    "base_lrs": [1e-3],
}


def check(asked=LINEAR, kind="LambdaLR", **training):
    builder = RunBuilder().facts(
        schedulers=({"class": kind, "asked": asked},), training=training
    )
    return Engine([ScheduleLongerThanRun()]).check(builder.run).findings


def test_is_quiet_on_healthy_runs():
    assert Engine([ScheduleLongerThanRun()]).check(healthy_lora().run).findings == ()
    assert check() == ()
    assert check(max_steps=400) == ()
    assert check(max_steps=300) == ()
    assert check(LINEAR | {"num_warmup_steps": 200}, max_steps=100) == ()  # OPT010


def test_a_total_in_micro_batches():
    (finding,) = check(max_steps=100, gradient_accumulation_steps=4)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "micro-batches"
    assert finding.evidence["left"] == pytest.approx(1 - 99 / 400)
    assert finding.place == Place("config", "num_training_steps")
    (finding,) = check(max_steps=99, gradient_accumulation_steps=4)
    assert finding.severity is Severity.WARNING


def test_a_run_that_may_go_on_later_is_noted():
    (finding,) = check(max_steps=100)
    assert finding.severity is Severity.INFO
    (finding,) = check(max_steps=150, gradient_accumulation_steps=4)
    assert finding.evidence["reason"] == "longer"


def test_a_schedule_that_falls_at_once_has_done_its_work():
    falls = {"total_iters": 400, "power": 9.0, "base_lrs": [1.0]}
    assert check(falls, "PolynomialLR", max_steps=100) == ()


def test_a_scheduler_that_is_stepped_once_for_each_update_is_counted_so():
    plan = {"class": "LambdaLR", "asked": LINEAR | {"num_training_steps": 12}}
    update = ("step", "optimizer 0", {})
    moves = ("scheduler_step", "scheduler 0", {"lr_before": [1], "lr_after": [0.9]})
    builder = RunBuilder().facts(schedulers=(plan,), training={"max_steps": 12})
    for _ in range(5):
        builder.step(ops=("forward", "backward", update, moves))
        found = Engine([ScheduleLongerThanRun()]).check(builder.run).findings
        assert found == ()
