"""OPT011."""

import itertools

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.optimizer.schedule_length_off import ScheduleLengthOff
from tests.runs import RunBuilder, checker, only

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
WARMED = LINEAR | {"num_warmup_steps": 10, "num_training_steps": 100}
LONG = LINEAR | {"num_training_steps": 400}
RESTARTS = {"T_0": 1, "T_mult": 1, "eta_min": 0.0, "base_lrs": [1e-3]}
SHARES = {"milestones": [0.5, 0.75], "gamma": 0.1, "base_lrs": [1e-3]}
WARM, STEPPED = "CosineAnnealingWarmRestarts", "MultiStepLR"
UPDATE = ("step", "optimizer 0", {})
check = checker(ScheduleLengthOff())


def planned(asked=LINEAR, kind="LambdaLR", **training):
    plans = () if asked is None else ({"class": kind, "asked": asked},)
    return RunBuilder().facts(schedulers=plans, training=training)


def found(asked=LINEAR, kind="LambdaLR", **training):
    return check(planned(asked, kind, **training))


def moved(now, then, **detail):
    return (
        "scheduler_step",
        "scheduler 0",
        {"lr_before": [now], "lr_after": [then], **detail},
    )


def train(builder, rates, epochs=range(1, 1000)):
    for epoch, (now, then) in zip(epochs, itertools.pairwise(rates), strict=False):
        moves = moved(now, then, epoch=epoch)
        builder.step(ops=("forward", "backward", UPDATE, moves), lr=(now,))
    return builder


def test_is_quiet_on_healthy_runs():
    assert check(planned(max_steps=10)) == ()
    assert check(planned(max_steps=12)) == ()
    assert check(planned(COSINE | {"num_cycles": 1.5}, max_steps=12)) == ()
    assert check(train(planned(), [1.0, 0.5, 0.0, 0.0])) == ()
    assert found(WARMED) == found(WARMED, max_steps=100) == ()
    assert found(WARMED | {"num_warmup_steps": 0}) == ()
    assert found({"total_iters": 5, "start_factor": 0.1, "end_factor": 1.0}) == ()
    assert found(LONG) == found(LONG, max_steps=400) == found(LONG, max_steps=300) == ()


def test_a_plan_that_leaves_a_fifth_of_the_run_without_a_rate():
    finding = only(check(planned(max_steps=40)), "warning", "config num_training_steps")
    assert finding.evidence["reason"] == "planned"
    assert "from step 10 on" in finding.message


def test_a_plan_that_ends_above_zero_is_one_to_choose():
    asked = {"total_iters": 10, "start_factor": 1.0, "end_factor": 0.1}
    assert check(planned(asked | {"base_lrs": [1.0]}, "LinearLR", max_steps=99)) == ()


def test_updates_without_a_rate():
    finding = only(check(train(planned(), [1.0, 0.5, 0.0, 0.0, 0.0, 0.0])), "warning")
    assert finding.evidence["reason"] == "at-zero"
    assert finding.place == Place("config", "num_training_steps")
    finding = only(check(train(planned({}), [1.0, 0.5, 0.0, 0.0, 0.0, 0.0])), "info")
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
        moves = moved(now, then, epoch=epoch + 1)
        update = ("forward", "backward", UPDATE)
        for number in range(every):
            ops = (*update, moves) if number == every - 1 else update
            builder.step(ops=ops, lr=(now,))
    return [f for f in check(builder) if f.severity is Severity.WARNING]


def test_waves_of_a_few_updates_are_epochs_that_were_counted():
    finding = only(waving(4, 16), place="config T_max", reason="waves-of-few-updates")
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


def test_a_warmup_longer_than_its_own_schedule():
    finding = only(found(WARMED | {"num_warmup_steps": 400}), "warning")
    assert finding.evidence["reason"] == "past-the-plan"
    assert finding.evidence["share"] == pytest.approx(99 / 400)
    assert finding.place == Place("config", "num_warmup_steps")
    assert finding.first_step == -1


def test_a_warmup_longer_than_the_run():
    finding = only(found(WARMED, max_steps=8), reason="past-the-run")
    assert finding.evidence["share"] == pytest.approx(0.7)
    warm = {"class": "LinearLR", "start_factor": 0.1, "end_factor": 1.0}
    warm |= {"total_iters": 50, "base_lrs": [1.0]}
    parts = [warm, {"class": "ExponentialLR", "gamma": 0.9, "base_lrs": [1.0]}]
    asked = {"schedulers": parts, "milestones": [50]}
    only(found(asked, "SequentialLR", max_steps=20), place="config milestones")
    assert found(asked, "SequentialLR", max_steps=200) == ()


def test_a_share_where_steps_are_counted():
    only(found(WARMED | {"num_warmup_steps": 0.03}), reason="fraction")


def test_the_arguments_of_a_trainer_without_a_scheduler():
    args = {"lr_scheduler_type": "cosine", "warmup_steps": 100}
    only(found(None, args=args, max_steps=40), place="config warmup_steps")
    assert found(None, args=args | {"warmup_steps": 0.1}, max_steps=40) == ()


def test_several_steps_of_the_scheduler_for_each_update():
    builder = planned(WARMED, max_steps=8)
    moves = moved(0.0, 0.1)
    builder.steps(4, ops=("forward", "backward", UPDATE, moves, moves))
    warmups = {"past-the-plan", "past-the-run", "fraction"}
    assert warmups.isdisjoint(each.evidence["reason"] for each in check(builder))


def test_a_total_in_micro_batches():
    finding = only(found(LONG, max_steps=100, gradient_accumulation_steps=4), "warning")
    assert finding.evidence["reason"] == "micro-batches"
    assert finding.evidence["left"] == pytest.approx(1 - 99 / 400)
    assert finding.place == Place("config", "num_training_steps")
    only(found(LONG, max_steps=99, gradient_accumulation_steps=4), "warning")


def test_a_run_that_may_go_on_later_is_noted():
    only(found(LONG, max_steps=100), "info")
    only(found(LONG, max_steps=150, gradient_accumulation_steps=4), reason="longer")


def test_of_a_warmup_beyond_the_run_only_that_is_told():
    only(found(LONG | {"num_warmup_steps": 200}, max_steps=100), reason="past-the-run")


def test_a_schedule_that_falls_at_once_has_done_its_work():
    falls = {"total_iters": 400, "power": 9.0, "base_lrs": [1.0]}
    assert found(falls, "PolynomialLR", max_steps=100) == ()


def test_a_scheduler_that_is_stepped_once_for_each_update_is_counted_so():
    builder = planned(LINEAR | {"num_training_steps": 12}, max_steps=12)
    for _ in range(5):
        builder.step(ops=("forward", "backward", UPDATE, moved(1, 0.9)))
        assert check(builder) == ()


def still(kind, asked, rates=(1e-3,) * 4, epochs=(1, 2, 3)):
    return check(train(planned(asked, kind), rates, epochs))


def test_a_restart_at_each_step():
    finding = only(still(WARM, RESTARTS), "warning", "config T_0")
    assert finding.evidence["reason"] == "restarts-at-each-step"
    assert "T_0=1 has made 3 steps, but the rate stays at 0.001" in finding.message


def test_milestones_in_shares():
    finding = only(still(STEPPED, SHARES), place="config milestones")
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
    assert still(kind, asked) == ()


def test_fractions_of_an_epoch_move_the_rate():
    assert still(WARM, RESTARTS, rates=(1e-3, 9e-4, 5e-4, 1e-3)) == ()


def test_takes_three_steps_of_the_count():
    assert still(WARM, RESTARTS, epochs=(1, 2)) == ()
    assert still(WARM, RESTARTS, epochs=(1, 1, 1)) == ()
