"""ENV001."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.environment.argument_without_effect import ArgumentWithoutEffect
from tests.rules.environment.trainers import ADAMW, found
from tests.runs import only

CONSTANT = {"class": "LambdaLR", "asked": {"schedule": "_get_constant_lambda"}}
WARM = {"asked": {"schedule": "_get_constant_schedule_with_warmup_lr_lambda"}}


def check(asked, args=None, **parts):
    arguments = {"eval_strategy": "no"} | (args or {})
    return found(ArgumentWithoutEffect(), asked=asked, args=arguments, **parts)


def reasons(findings):
    return [each.evidence["reason"] for each in findings]


def test_is_quiet_where_nothing_is_amiss():
    assert check({}) == ()


@pytest.mark.parametrize("name", ["warmup_steps", "warmup_ratio"])
def test_a_constant_schedule_has_no_warmup(name):
    args = {"lr_scheduler_type": "constant"}
    finding = only(check({name: 0.1}, args, schedulers=[CONSTANT]), "warning")
    assert finding.place == Place("config", name)
    assert finding.places[1] == Place("config", "lr_scheduler_type")


def test_a_schedule_with_a_warmup_that_was_handed_over_is_left_in_peace():
    args = {"lr_scheduler_type": "constant"}
    assert check({"warmup_steps": 10}, args, schedulers=[WARM]) == ()


def test_constant_schedules_take_no_settings():
    args = {"lr_scheduler_type": "constant_with_warmup"}
    (finding,) = check({"lr_scheduler_kwargs": {"min_lr": 1}}, args, schedulers=[WARM])
    assert finding.evidence["reason"] == "constant-schedule"


def test_what_a_search_tries_is_only_noted():
    args = {"lr_scheduler_type": "constant"}
    made = {"searched": True}
    only(check({"warmup_steps": 4}, args, schedulers=[CONSTANT], made=made), "info")


def test_smoothing_is_without_effect_beside_a_loss_of_ones_own():
    asked = {"label_smoothing_factor": 0.1}
    only(check(asked, made={"smoothing": "own-loss"}), reason="own-loss")
    assert check(asked, made={"smoothing": "applied"}) == ()


def test_pairs_of_optim_args_that_the_optimizer_has_otherwise():
    settings = {"momentum": 0, "nesterov": True, "lr": 0.1}
    asked = {"optim_args": "momentum=0.9, nesterov=true, unknown=3"}
    (finding,) = check(asked, optimizers=[ADAMW], made={"settings": settings})
    assert finding.severity is Severity.WARNING
    assert "momentum=0.9" in finding.message
    assert "unknown" not in finding.message


def test_an_optimizer_without_betas_is_noted():
    asked = {"adam_beta1": 0.8, "adam_epsilon": 1e-6}
    settings = {"lr": 0.1, "eps": [1e-30, 1e-3]}
    findings = check(asked, optimizers=[ADAMW], made={"settings": settings})
    assert reasons(findings) == ["no-such-setting"] * 2
    assert {each.severity for each in findings} == {Severity.INFO}
    other = [{"class": "Mine", "module": "mine"}]
    assert check(asked, optimizers=other, made={"settings": settings}) == ()


def test_epochs_beside_max_steps_are_noted_where_they_differ():
    (finding,) = check({"num_train_epochs": 3, "max_steps": 40})
    assert (finding.severity, finding.place.name) == (
        Severity.INFO,
        "num_train_epochs",
    )
    assert check({"num_train_epochs": 5, "max_steps": 40}) == ()
    assert check({"num_train_epochs": 5, "max_steps": -1}) == ()


def test_what_is_switched_off_is_noted():
    asked = {"eval_steps": 5, "save_steps": 5, "metric_for_best_model": "f1"}
    findings = check(asked, {"save_strategy": "epoch"})
    assert reasons(findings) == ["switched-off"] * 3
    assert {each.severity for each in findings} == {Severity.INFO}


def test_what_is_used_is_not_told():
    args = {"eval_strategy": "steps", "save_strategy": "steps"}
    asked = {"eval_steps": 5, "save_steps": 5, "save_total_limit": 2}
    asked |= {"metric_for_best_model": "f1"}
    assert check(asked, args, made={"patience": [3]}) == ()
