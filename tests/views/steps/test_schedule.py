import numpy as np
import pytest

from ftlab.records.facts import Facts
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.schedule import ScheduleView, _told_apart
from ftlab.views.steps.schedule_asked import schedule_of

WARMUP, TOTAL = 4, 20


def linear(step):
    """Write the linear schedule with warm-up down a second time."""
    if step < WARMUP:
        return step / WARMUP
    return max(0.0, (TOTAL - step) / (TOTAL - WARMUP))


def facts(bases=(1.0, 0.5), **training):
    asked = {
        "schedule": "_get_linear_schedule_with_warmup_lr_lambda",
        "num_warmup_steps": WARMUP,
        "num_training_steps": TOTAL,
        "base_lrs": list(bases),
    }
    groups = [{"lr": base} for base in bases]
    return Facts(
        optimizers=({"class": "AdamW", "groups": groups},),
        schedulers=({"class": "LambdaLR", "optimizer_index": 0, "asked": asked},),
        training=training,
    )


def followed(steps=10, bases=(1.0, 0.5), counts=None, **fields):
    run = Run()
    run.append(facts(bases))
    for step in range(steps):
        count = step if counts is None else counts[step]
        rates = tuple(base * linear(count) for base in bases)
        skipped = step in fields.get("skipped", ())
        run.append(StepRecord(step, 0.0, lr=rates, skipped=skipped))
    return run


def test_a_schedule_that_is_followed_is_as_asked():
    assert repr(ScheduleView(followed())) == (
        "Schedule: 10 steps\n0.688, 0.344 at step 9 of 20; warm-up ended at 4\n"
        "as planned"
    )


def test_the_plan_is_drawn_to_its_end_and_the_rates_as_far_as_they_go():
    summary = ScheduleView(followed(6)).summary
    assert summary.first_steps.tolist() == list(range(TOTAL))
    expected = [linear(step) for step in range(TOTAL)]
    np.testing.assert_allclose(summary.row("asked_0"), expected, atol=1e-6)
    assert np.isnan(summary.row("rate_0")[6:]).all()
    assert np.flatnonzero(summary.row("warmup") > 0).tolist() == [WARMUP]
    assert np.flatnonzero(summary.row("end") > 0).tolist() == [TOTAL - 1]


def test_a_scheduler_that_steps_twice_is_off_from_the_second_step_on():
    view = ScheduleView(followed(6, counts=[2 * step for step in range(6)]))
    assert view.headline().endswith(
        "off in 5 of 6 steps, first at step 1: 0.5, planned 0.25"
    )
    difference = view.table()["difference"].to_numpy().reshape(6, 2)
    expected = [linear(2 * step) - linear(step) for step in range(6)]
    np.testing.assert_allclose(difference[:, 0], expected, atol=1e-9)


def test_a_scheduler_that_stands_still_in_skipped_steps_is_as_asked():
    view = ScheduleView(followed(8, counts=[0, 1, 1, 1, 2, 3, 4, 5], skipped=(1, 2)))
    assert view.headline().endswith("as planned")
    assert view.summary.notes[-1] == "Skipped steps are not counted."


def test_groups_with_equal_rates_are_drawn_as_one():
    view = ScheduleView(followed(6, bases=(1.0, 1.0, 0.5)))
    labels = [one.label for one in view.summary.plan.panels[0].series]
    assert labels == [
        "planned",
        "",
        "groups 0, 1",
        "group 2",
        "warm-up ends",
        "planned end",
    ]
    assert len(view.table()) == 18


def test_groups_that_part_later_are_told_apart():
    same = _told_apart((0, 0, 0), np.array([[1.0, 1.0, 2.0]]))
    assert same == (0, 0, 2)
    assert _told_apart(same, np.array([[1.0, 3.0, 1.0]])) == (0, 1, 2)


def test_an_unknown_formula_shows_only_what_was():
    run = Run()
    own = {"class": "LambdaLR", "asked": {"schedule": "mine", "base_lrs": [1.0]}}
    run.append(Facts(schedulers=(own,)))
    for step in range(3):
        run.append(StepRecord(step, 0.0, lr=(1.0 / (1 + step),)))
    view = ScheduleView(run)
    assert view.headline() == "0.333 at step 2; formula not known"
    assert len(view.summary.plan.panels) == 1
    assert view.table()["asked"].isna().all()


def test_constant_rates_without_a_scheduler_are_nothing_to_show():
    run = Run()
    for step in range(3):
        run.append(StepRecord(step, 0.0, lr=(1.0,)))
    assert ScheduleView(run).headline() == ""
    run.append(StepRecord(3, 0.0, lr=(0.5,)))
    assert ScheduleView(run).headline() == "0.5 at step 3; no scheduler given"


def test_an_empty_run_says_so():
    view = ScheduleView(Run())
    assert repr(view) == "Schedule: nothing recorded yet"
    assert len(view.table()) == 0
    assert view.figure().axes


def test_live_steps_equal_those_read_at_once():
    run = Run()
    view = ScheduleView(run)
    widget = view.widget()
    whole = followed(12)
    run.append(whole.facts)
    for step in range(12):
        rates = tuple(whole.steps["lr"][step])
        run.append(StepRecord(step, 0.0, lr=rates))
        view.refresh()
    expected = ScheduleView(whole).summary
    np.testing.assert_array_equal(view.summary.values, expected.values)
    widget.close()


def test_a_live_step_sends_its_own_column_not_the_plan_behind_it(monkeypatch):
    run = followed(2)
    view = ScheduleView(run)
    widget = view.widget()
    widget._snap_due = float("inf")
    sent = []
    monkeypatch.setattr(widget, "send", lambda _, buffers: sent.append(buffers[0]))
    run.append(StepRecord(2, 0.0, lr=(linear(2), linear(2) / 2)))
    view.refresh()
    assert [len(each) for each in sent] == [4 * len(view.summary.plan.rows)]
    widget.close()


def test_a_plan_of_millions_of_steps_is_drawn_with_a_thousand_points():
    given = facts((1.0,))
    given.schedulers[0]["asked"]["num_training_steps"] = 5_000_000
    run = Run()
    run.append(given)
    run.append(StepRecord(0, 0.0, lr=(0.0,)))
    summary = ScheduleView(run).summary
    assert len(summary.first_steps) <= 1024
    assert summary.first_steps[-1] > 990_000


def test_a_run_longer_than_its_plan_goes_on():
    summary = ScheduleView(followed(TOTAL + 5)).summary
    assert summary.first_steps[-1] == TOTAL + 4
    assert not np.isnan(summary.row("asked_0")[-1])


def test_a_trainers_arguments_are_a_plan_too():
    args = {"lr_scheduler_type": "linear", "warmup_steps": WARMUP, "learning_rate": 2.0}
    found = schedule_of(Facts(training={"args": args, "max_steps": TOTAL}), 1, 5)
    expected = [2 * linear(step) for step in range(TOTAL)]
    np.testing.assert_allclose(found.rates[:, 0], expected)
    assert (found.warmup, found.total, found.given) == (WARMUP, TOTAL, True)


def test_two_schedulers_of_one_optimizer_have_no_known_formula():
    given = facts((1.0,))
    twice = Facts(optimizers=given.optimizers, schedulers=given.schedulers * 2)
    assert not schedule_of(twice, 1, 5).known


@pytest.mark.parametrize("index", [0, 1])
def test_the_schedule_of_an_optimizer_is_that_of_its_own_groups(index):
    given = facts((1.0,))
    scheduler = dict(given.schedulers[0], optimizer_index=index)
    other = {"class": "SGD", "groups": [{"lr": 1.0}]}
    both = Facts(optimizers=(other, other), schedulers=(scheduler,))
    known = np.isfinite(schedule_of(both, 2, 5).rates).all(0)
    assert known.tolist() == [index == 0, index == 1]
