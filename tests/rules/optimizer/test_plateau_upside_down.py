"""OPT017."""

import pytest

from ftlab.records.finding import Place
from ftlab.records.step import Evaluation
from ftlab.rules.optimizer.plateau_upside_down import PlateauUpsideDown
from tests.runs import RunBuilder, checker, only

check = checker(PlateauUpsideDown())


def plateau(mode, metric=""):
    plan = {"class": "ReduceLROnPlateau", "optimizer_index": 0, "asked": {"mode": mode}}
    args = {"metric_for_best_model": metric} if metric else {}
    return RunBuilder().facts(schedulers=(plan,), training={"args": args})


def stepped(builder, best, losses=(2.0, 1.5, 1.0), after=0.5):
    for number, loss in enumerate(losses):
        last = number == len(losses) - 1
        detail = {"lr_before": [1.0], "lr_after": [after if last else 1.0]}
        moves = ("scheduler_step", "scheduler 0", detail | {"best": best})
        builder.step(ops=("backward", moves), loss=loss)
    return builder


def test_is_quiet_on_healthy_runs():
    assert check(stepped(plateau("min"), 1.0)) == ()


@pytest.mark.parametrize(
    ("mode", "metric", "found"),
    [
        ("min", "accuracy", True),
        ("min", "eval_f1", True),
        ("max", "loss", True),
        ("max", "accuracy", False),
        ("min", "eval_loss", False),
        ("min", "neg_wer", False),
        ("min", "usefulness", False),
    ],
)
def test_a_trainer_s_metric_says_which_way_is_better(mode, metric, found):
    findings = check(plateau(mode, metric))
    assert [each.evidence["reason"] for each in findings] == ["name"] * found
    assert all(each.place == Place("config", "mode") for each in findings)


def test_the_loss_of_a_step_where_larger_values_are_waited_for():
    only(check(stepped(plateau("max"), 2.0)), "warning", metric="the loss")
    assert check(stepped(plateau("max"), 2.0, after=1.0)) == ()  # never lowered
    assert check(stepped(plateau("max"), 0.7)) == ()
    assert check(stepped(plateau("max"), None)) == ()


def test_a_metric_of_an_evaluation_is_known_by_its_value():
    builder = plateau("min")
    builder.run.append(Evaluation(0, 0.0, {"eval_accuracy": 0.25, "eval_x": 0.5}))
    only(check(stepped(builder, 0.25)), metric="eval_accuracy")
    builder = plateau("min")
    builder.run.append(Evaluation(0, 0.0, {"eval_x": 0.5, "eval_loss": 2.0}))
    assert check(stepped(builder, 0.5)) == ()


RISING = (5 / 12, 7 / 12, 8 / 12, 10 / 12, 11 / 12)


def judged(mode, shares, losses=(2.0, 1.5, 1.0, 0.9, 0.8), *, every=2, scale=1.0):
    """Step the scheduler every few steps; it lowers the rate at the last one."""
    builder = plateau(mode)
    for index, (share, loss) in enumerate(zip(shares, losses, strict=True)):
        builder.steps(every - 1, ops=("backward",), loss=loss + 0.0123456)
        fell = index == len(shares) - 1
        rates = {"lr_before": [1.0], "lr_after": [0.1 if fell else 1.0]}
        moves = ("scheduler_step", "scheduler 0", rates | {"best": 0.0})
        builder.step(ops=(moves,), loss=loss, values={"plateau_metric": share * scale})
    return check(builder)


def of(count, shares):
    return tuple(round(each * count) / count for each in shares)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_share_that_rises_with_what_is_learnt_is_no_error_rate(scale):
    finding = only(judged("min", of(128, RISING), scale=scale), "warning")
    assert finding.evidence["reason"] == "share"
    assert "128 samples" in finding.message
    assert finding.place == Place("config", "mode")
    assert judged("max", of(128, RISING), scale=scale) == ()


def test_an_error_rate_where_larger_values_are_waited_for():
    falling = tuple(1 - each for each in of(128, RISING))
    (finding,) = judged("max", falling)
    assert "error rate over 128" in finding.message
    assert judged("min", falling) == ()


def test_what_may_have_been_rounded_is_noted_only():
    only(judged("min", of(100, RISING)), "info")


def test_an_evaluation_loss_that_rises_is_left_alone():
    assert judged("min", (0.3123457, 0.4345671, 0.5512345, 0.651235, 0.7123454)) == ()


def test_a_share_must_rise_clearly_while_the_loss_falls():
    slightly = of(128, (0.45, 0.46, 0.48, 0.51, 0.55))
    assert judged("min", slightly) == ()
    flat = (2.0, 2.01, 1.99, 2.0, 2.0)
    assert judged("min", of(128, RISING), flat) == ()
    assert judged("min", of(128, RISING[:2]), (2.0, 1.0)) == ()


def test_what_follows_the_training_loss_is_a_loss():
    finding = only(judged("max", (2.4, 2.0, 1.4, 1.3, 1.2)), place="config mode")
    assert finding.evidence["reason"] == "follows"
    assert judged("min", (2.4, 2.0, 1.4, 1.3, 1.2)) == ()


SLOW = (2.0, 1.9, 1.8, 1.7, 1.6)


@pytest.mark.parametrize(
    ("given", "losses"),
    [
        ((1.6, 1.7, 1.8, 1.9, 2.0), SLOW),  # higher than at first
        ((3.9, 2.0, 1.4, 1.3, 1.2), SLOW),  # too far from the loss at one evaluation
        ((0.9, 0.8, 0.7, 0.65, 0.6), (1.0, 0.8, 0.7, 0.65, 0.6)),  # may be a share
        ((-2.4, -2.0, -1.4, -1.3, -1.2), SLOW),  # turned round
    ],
)
def test_what_does_not_follow_the_loss_is_left_alone(given, losses):
    assert judged("max", given, losses) == ()


def test_two_evaluations_are_too_few_and_a_loss_that_rises_says_nothing():
    assert judged("max", (2.4, 2.0), (2.0, 1.5)) == ()
    assert judged("max", (1.8, 1.7, 1.6), (1.5, 1.6, 1.7)) == ()
