"""ADP027."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.adapter.resumed_in_part import ResumedInPart
from tests.runs import RunBuilder, found_by, only, report_by

ADAM = {"class": "AdamW", "groups": [{"lr": 1e-3, "momentum": None}]}


def adapters(zero=0, init="True", trainable=True):
    row = {"pairs": 4, "zero_b": zero, "init": init, "trainable": trainable}
    return {"default": row}


def report(step=0, states=(0,), epochs=(0,), optimizer=ADAM, **start):
    start = {"optimizer_states": list(states), "last_epochs": list(epochs)} | start
    model = {"peft": {}, "start": start}
    builder = RunBuilder().facts(step=step, model=model, optimizers=(optimizer,))
    return report_by(ResumedInPart(), builder.run)


def check(**case):
    return report(**case).findings


def test_a_fresh_run_is_fine():
    assert check(adapters=adapters(zero=4)) == ()
    assert check() == ()


def test_a_run_that_goes_on_needs_its_moments():
    finding = only(check(step=40), "warning", reason="resumed")
    assert finding.places == (
        Place("optimizer", "state"),
        Place("call", "lr_scheduler.last_epoch"),
    )
    assert finding.first_step == 40


def test_a_trained_adapter_may_be_a_second_stage():
    finding = only(check(adapters=adapters()), "info", reason="trained-before")
    assert "whose lora_B is not 0" in finding.message
    assert "its B is random" in finding.cause


def test_the_schedule_it_was_trained_by_makes_it_a_resume():
    known = {"adapters": adapters(), "base_rates": [1e-3]}
    only(check(**known, trained_as={"base_rates": [1e-3]}), "warning", reason="resumed")


@pytest.mark.parametrize(
    "case",
    [
        {"trained_as": {"base": {}}},
        {"trained_as": {"base_rates": [2e-3]}, "base_rates": [1e-3]},
        {"trained_as": {"base_rates": [1e-3]}, "base_rates": [1e-3], "epochs": (20,)},
    ],
)
def test_another_schedule_is_a_stage_of_its_own(case):
    only(check(adapters=adapters(), **case), "info")


def test_moments_that_are_there_are_enough():
    assert check(step=40, states=[8], epochs=[40], adapters=adapters()) == ()


def test_a_schedule_that_begins_again_is_told_apart():
    finding = only(check(step=40, states=[8], epochs=[0]), reason="schedule")
    assert finding.place == Place("call", "lr_scheduler.last_epoch")
    assert check(step=40, states=[8], epochs=[]) == ()


@pytest.mark.parametrize(
    "case",
    [
        {"adapters": adapters(init="pissa")},
        {"adapters": adapters(init="False")},
        {"adapters": adapters(trainable=False)},
    ],
)
def test_what_begins_other_than_at_zero_proves_nothing(case):
    assert check(**case) == ()


@pytest.mark.parametrize(("momentum", "found"), [(0, 0), (0.9, 1)])
def test_plain_sgd_has_nothing_to_remember(momentum, found):
    sgd = {"class": "SGD", "groups": [{"momentum": momentum}]}
    assert len(check(step=40, optimizer=sgd)) == found


def test_an_optimizer_that_was_unknown_is_not_checked():
    (entry,) = report(step=40, states=[]).not_checked
    assert "no optimizer was known" in entry.reason


def test_a_state_that_was_loaded_over_a_fresh_schedule():
    finding = only(check(states=(8,), overwritten_rates=[[5e-3, 5e-4]]), "warning")
    assert finding.evidence["reason"] == "schedule"
    assert "0.0005 where the optimizer has 0.005" in finding.message
    assert finding.places[0] == Place("call", "lr_scheduler.last_epoch")


def test_a_used_optimizer_under_a_new_schedule_is_a_second_stage():
    assert check(states=(8,)) == ()
    assert check(states=(8,), epochs=(20,), overwritten_rates=[[5e-3, 5e-4]]) == ()


def ending(step=12, end=12, trainer="Trainer"):
    training = {"trainer_class": trainer, "max_steps": end}
    builder = RunBuilder().facts(step=step, model={"peft": {}}, training=training)
    return found_by(ResumedInPart(), builder.run)


@pytest.mark.parametrize("step", [12, 14])
def test_nothing_is_left_where_it_goes_on(step):
    finding = only(ending(step), "warning", "config max_steps")
    assert f"resumes at step {step} of 12" in finding.message


@pytest.mark.parametrize("case", [{"step": 11}, {"step": 0, "end": 0}, {"trainer": ""}])
def test_what_has_a_step_left_is_fine(case):
    assert ending(**case) == ()


def rated(asked=1e-4, rates=(3e-3,), made_with=(1e-4,), step=8):
    start = {"base_rates": list(rates), "made_with": list(made_with)}
    builder = RunBuilder().facts(
        step=step,
        model={"peft": {}, "start": start},
        training={"trainer_class": "Trainer", "args": {"learning_rate": asked}},
    )
    return found_by(ResumedInPart(), builder.run)


def test_a_checkpoint_has_overwritten_the_rate():
    finding = only(rated(), "warning", "config learning_rate")
    assert finding.evidence["ratio"] == pytest.approx(30)


@pytest.mark.parametrize(
    "case",
    [
        {"rates": (1e-4,)},
        {"rates": (1.6e-3, 1e-4)},
        {"step": 0},
        {"made_with": (3e-3,)},
        {"made_with": (None,)},
        {"rates": ()},
        {"asked": None},
    ],
)
def test_what_was_asked_for_is_used_or_was_asked_for_elsewhere(case):
    assert rated(**case) == ()
