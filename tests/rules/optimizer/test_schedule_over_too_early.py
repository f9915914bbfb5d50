"""OPT011."""

import itertools

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.optimizer.schedule_over_too_early import ScheduleOverTooEarly
from tests.runs import RunBuilder, healthy_lora

LINEAR = {
    "schedule": "_get_linear_schedule_with_warmup_lr_lambda",
    "num_warmup_steps": 0,
    "num_training_steps": 10,
    "base_lrs": [1e-3],
}
COSINE = LINEAR | {
    "schedule": "_get_cosine_schedule_with_warmup_lr_lambda",
    "num_cycles": 0.5,
}


def check(builder):
    return Engine([ScheduleOverTooEarly()]).check(builder.run).findings


def planned(asked=LINEAR, kind="LambdaLR", **training):
    return RunBuilder().facts(
        schedulers=({"class": kind, "asked": asked},), training=training
    )


def train(builder, rates):
    for epoch, (now, then) in enumerate(itertools.pairwise(rates)):
        detail = {"lr_before": [now], "lr_after": [then], "epoch": epoch + 1}
        moves = ("scheduler_step", "scheduler 0", detail)
        update = ("step", "optimizer 0", {})
        builder.step(ops=("forward", "backward", update, moves), lr=(now,))
    return builder


def test_is_quiet_on_healthy_runs():
    assert check(healthy_lora()) == ()
    assert check(planned(max_steps=10)) == ()
    assert check(planned(max_steps=12)) == ()
    assert check(planned(COSINE | {"num_cycles": 1.5}, max_steps=12)) == ()
    assert check(train(planned(), [1.0, 0.5, 0.0, 0.0])) == ()


def test_a_plan_that_leaves_a_fifth_of_the_run_without_a_rate():
    (finding,) = check(planned(max_steps=40))
    assert finding.evidence["reason"] == "planned"
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "num_training_steps")
    assert "from step 10 on" in finding.message


def test_a_plan_that_ends_above_zero_is_one_to_choose():
    asked = {"total_iters": 10, "start_factor": 1.0, "end_factor": 0.1}
    assert check(planned(asked | {"base_lrs": [1.0]}, "LinearLR", max_steps=99)) == ()


def test_updates_without_a_rate():
    (finding,) = check(train(planned(), [1.0, 0.5, 0.0, 0.0, 0.0, 0.0]))
    assert finding.evidence["reason"] == "at-zero"
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "num_training_steps")
    (finding,) = check(train(planned({}), [1.0, 0.5, 0.0, 0.0, 0.0, 0.0]))
    assert finding.severity is Severity.INFO  # a function of one's own: a pause?
    assert (finding.first_step, finding.last_step) == (2, 4)
    assert finding.place == Place("optimizer", "lr")
    assert Place("call", "scheduler.step") in finding.places


def test_a_short_tail_of_a_long_run_is_left_alone():
    assert check(train(planned({}), [1.0] * 100 + [0.0] * 5)) == ()
    assert len(check(train(planned({}), [1.0] * 100 + [0.0] * 8))) == 1


def test_rates_at_zero_without_a_scheduler_that_steps_are_not_its_fault():
    builder = planned({})
    for rate in (1.0, 0.0, 0.0, 0.0, 0.0):
        builder.step(lr=(rate,))
    assert check(builder) == ()


@pytest.mark.parametrize(
    ("asked", "kind", "length", "severity"),
    [
        (COSINE | {"num_training_steps": 3}, "LambdaLR", 0, Severity.WARNING),
        ({"T_max": 3, "base_lrs": [1.0]}, "CosineAnnealingLR", 0, Severity.INFO),
        ({"T_max": 3, "base_lrs": [1.0]}, "CosineAnnealingLR", 5, Severity.WARNING),
        ({"T_max": 3, "base_lrs": [1.0]}, "CosineAnnealingLR", 6, Severity.INFO),
    ],
)
def test_a_cosine_that_rises_behind_its_end(asked, kind, length, severity):
    rates = [1.0, 0.7, 0.3, 0.0, 0.3, 0.7, 1.0]
    (finding,) = check(train(planned(asked, kind, max_steps=length), rates))
    assert finding.evidence["reason"] == "rises-again"
    assert finding.severity is severity
    assert finding.place.name in {"T_max", "num_training_steps"}


def waving(length, steps, every=1, lowest=0.0):
    """Train under a CosineAnnealingLR that is stepped after ``every`` updates."""
    asked = {"T_max": length, "base_lrs": [1.0], "eta_min": lowest}
    builder = planned(asked, kind="CosineAnnealingLR")
    wave = [1 - (1 - lowest) * (n % (2 * length)) / length for n in range(steps + 1)]
    high = [each if each >= lowest else 2 * lowest - each for each in wave]
    for epoch, (now, then) in enumerate(itertools.pairwise(high)):
        detail = {"lr_before": [now], "lr_after": [then], "epoch": epoch + 1}
        moves = ("scheduler_step", "scheduler 0", detail)
        update = ("forward", "backward", ("step", "optimizer 0", {}))
        for number in range(every):
            ops = (*update, moves) if number == every - 1 else update
            builder.step(ops=ops, lr=(now,))
    return [f for f in check(builder) if f.severity is Severity.WARNING]


def test_waves_of_a_few_updates_are_epochs_that_were_counted():
    (finding,) = waving(4, 16)
    assert finding.evidence["reason"] == "waves-of-few-updates"
    assert finding.place == Place("config", "T_max")
    assert "has T_max=4 and is stepped for each update" in finding.message
    assert "to the maximum 2 times, and fallen to 0 in between" in finding.message
    assert len(waving(1, 6)) == 1


@pytest.mark.parametrize(
    "wave",
    [
        {"length": 4, "steps": 15},
        {"length": 6, "steps": 40},
        {"length": 4, "steps": 20, "every": 3},
        {"length": 4, "steps": 5, "every": 5},
        {"length": 4, "steps": 20, "lowest": 0.6},
    ],
    ids=["one-pass", "longer", "per-epoch", "at-its-bottom", "shallow"],
)
def test_other_waves_are_left_alone(wave):
    assert waving(**wave) == []
