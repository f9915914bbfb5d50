"""OPT017."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.records.step import Evaluation
from ftlab.rules.engine import Engine
from ftlab.rules.optimizer.plateau_upside_down import PlateauUpsideDown
from tests.runs import RunBuilder, healthy_lora


def check(builder):
    return Engine([PlateauUpsideDown()]).check(builder.run).findings


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
    assert check(healthy_lora()) == ()
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
    (finding,) = check(stepped(plateau("max"), 2.0))
    assert finding.severity is Severity.WARNING
    assert finding.evidence["metric"] == "the loss"
    assert check(stepped(plateau("max"), 2.0, after=1.0)) == ()  # never lowered
    assert check(stepped(plateau("max"), 0.7)) == ()
    assert check(stepped(plateau("max"), None)) == ()


def test_a_metric_of_an_evaluation_is_known_by_its_value():
    builder = plateau("min")
    builder.run.append(Evaluation(0, 0.0, {"eval_accuracy": 0.25, "eval_x": 0.5}))
    (finding,) = check(stepped(builder, 0.25))
    assert finding.evidence["metric"] == "eval_accuracy"
    builder = plateau("min")
    builder.run.append(Evaluation(0, 0.0, {"eval_x": 0.5, "eval_loss": 2.0}))
    assert check(stepped(builder, 0.5)) == ()
