"""ENV003, and how many evaluations come."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.environment.evaluation_never_comes import EvaluationNeverComes
from ftlab.rules.reading.asked import evaluations
from tests.rules.environment.trainers import found, run_of
from tests.runs import only

STEPS = {"eval_strategy": "steps", "logging_steps": 500}


def check(asked, args=STEPS, **parts):
    return found(EvaluationNeverComes(), asked=asked, args=args, **parts)


def test_the_interval_is_longer_than_the_run():
    only(check({"eval_steps": 100}), "warning", "config eval_steps")
    assert check({"eval_steps": 100}, made={"evaluates_at_end": True}) == ()


def test_a_short_try_is_only_noted_unless_a_choice_waits_for_it():
    asked = {"eval_steps": 100, "max_steps": 40}
    only(check(asked), "info")
    finding = only(check(asked, STEPS | {"load_best_model_at_end": True}), "warning")
    assert Place("config", "load_best_model_at_end") in finding.places


def test_the_delay_is_longer_than_the_run():
    only(check({"eval_steps": 2, "eval_delay": 100}), place="config eval_delay")


def test_early_stopping_waits_for_more_than_come():
    finding = only(check({"eval_steps": 10}, made={"patience": [4]}), "info")
    assert finding.place == Place("config", "early_stopping_patience")
    assert check({"eval_steps": 10}, made={"patience": [3]}) == ()


def test_a_callback_that_evaluates_makes_it_unknown():
    assert check({"eval_steps": 100}, made={"own_evaluation": True}) == ()


@pytest.mark.parametrize(
    ("asked", "args", "made", "expected"),
    [
        ({"eval_steps": 10}, STEPS, {}, 4),
        ({"eval_steps": 0.25}, STEPS, {}, 4),
        ({"eval_steps": 15}, STEPS, {}, 2),
        ({"eval_steps": 15}, STEPS, {"evaluates_at_end": True}, 3),
        ({"eval_steps": 10}, STEPS, {"evaluates_at_end": True}, 4),
        ({"eval_steps": 10, "eval_delay": 20}, STEPS, {}, 3),
        ({"eval_steps": 10, "eval_delay": 11}, STEPS, {}, 3),
        ({"eval_steps": 15, "eval_delay": 41}, STEPS, {"evaluates_at_end": True}, 0),
        ({}, STEPS, {}, 0),
        ({}, {"eval_strategy": "epoch"}, {}, 5),
        ({"eval_delay": 2}, {"eval_strategy": "epoch"}, {}, 4),
        ({}, {"eval_strategy": "no"}, {}, 0),
    ],
)
def test_evaluations_are_counted(asked, args, made, expected):
    assert evaluations(run_of(asked=asked, args=args, made=made)) == expected
