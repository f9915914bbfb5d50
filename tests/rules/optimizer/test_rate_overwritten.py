"""OPT015."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.optimizer.rate_overwritten import RateOverwritten
from tests.runs import RunBuilder, checker, only

check = checker(RateOverwritten())


def run(*steps, kinds=("LambdaLR",), **model):
    """Make a run; a step holds, for each scheduler, the rates before and after it."""
    facts = tuple({"class": kind, "optimizer_index": 0, "asked": {}} for kind in kinds)
    builder = RunBuilder().facts(schedulers=facts, model=model)
    for number, moves in enumerate(steps):
        ops = [
            (
                "scheduler_step",
                f"scheduler {index}",
                {"lr_before": [now], "lr_after": [then], "epoch": number + 1},
            )
            for index, (now, then) in enumerate(moves)
        ]
        builder.step(ops=("forward", "backward", ("step", "optimizer 0", {}), *ops))
    return builder


ONE = ([(1.0, 0.9)], [(0.9, 0.8)], [(0.4, 0.7)], [(0.7, 0.6)])


def test_is_quiet_on_healthy_runs():
    assert check(run(*([(r, r - 0.1)] for r in (1.0, 0.9, 0.8, 0.7)))) == ()


def test_a_rate_that_the_scheduler_takes_back():
    finding = only(check(run(*ONE)), place="optimizer lr", reason="set-by-hand")
    assert (finding.first_step, finding.last_step) == (2, 3)
    assert "set to 0.4 from 0.8, and the scheduler's next step made it 0.7" in (
        finding.message
    )


@pytest.mark.parametrize("kind", ["StepLR", "SequentialLR", "CosineAnnealingLR"])
def test_schedules_that_go_on_from_the_rate_in_use_are_left_alone(kind):
    assert check(run(*ONE, kinds=(kind,))) == ()


@pytest.mark.parametrize(
    "steps",
    [
        ([(1.0, 0.9)], [(0.9, 0.8)], [(0.4, 0.35)], [(0.35, 0.3)]),  # base_lrs too
        ([(1.0, 0.9)], [(0.4, 0.8)], [(0.4, 0.7)], [(0.4, 0.6)]),  # for each update
        ([(1.0, 0.9)], [(0.9, 0.8)], [(0.4, 0.7)]),  # may be set again
    ],
)
def test_rates_that_last_or_are_written_anew_are_quiet(steps):
    assert check(run(*steps)) == ()


def test_a_rate_that_was_set_before_the_first_step():
    begun = {"start": {"overwritten_rates": [[0.1, 1.0]]}}
    steps = ([(0.1, 0.9)], [(0.9, 0.8)], [(0.8, 0.7)])
    (finding,) = check(run(*steps, **begun))
    assert finding.first_step == 0
    assert check(run(*steps)) == ()


def test_two_schedules_of_which_one_replaces_the_other():
    steps = [[(1.0, 0.1), (0.1, 1.0)]] * 3
    (finding,) = check(run(*steps, kinds=("LinearLR", "LambdaLR")))
    assert finding.evidence["reason"] == "two-schedules"
    assert finding.places[:2] == (
        Place("call", "scheduler 0.step"),
        Place("call", "scheduler 1.step"),
    )
    assert check(run(*steps[:2], kinds=("LinearLR", "LambdaLR"))) == ()
    assert check(run(*steps, kinds=("LinearLR", "ExponentialLR"))) == ()
    assert len(check(run(*steps, kinds=("LambdaLR", "LambdaLR")))) == 1


def test_a_schedule_that_is_stepped_now_and_then_beside_another_is_noted():
    both, alone = [(1.0, 0.9), (0.9, 0.8)], [(0.9, 0.9)]
    steps = [both, alone, alone, alone] * 3
    only(check(run(*steps, kinds=("LambdaLR", "MultiplicativeLR"))), "info")


def test_a_warmup_that_is_over_does_not_disturb():
    steps = [[(1.0, 1.0), (1.0, 0.9)]] * 3
    assert check(run(*steps, kinds=("LinearLR", "LambdaLR"))) == ()


@pytest.mark.parametrize(
    ("moves", "found"),
    [
        ([(1.0, 0.5), (1.0, 1.0), (1.0, 0.5), (1.0, 1.0)], 1),
        ([(1.0, 0.5), (1.0, 1.0)], 0),  # once: a restart by hand
        ([(1.0, 0.5), (0.5, 0.5), (0.5, 0.25), (0.25, 0.25)], 0),
        ([(1.0, 0.5), (0.5, 0.25), (0.5, 0.5)], 0),
    ],
)
def test_cuts_of_a_plateau_that_are_taken_back(moves, found):
    findings = check(run(*([move] for move in moves), kinds=("ReduceLROnPlateau",)))
    assert [each.evidence["reason"] for each in findings] == ["cut-undone"] * found


def test_a_cut_that_another_scheduler_takes_back_needs_no_next_step_of_the_plateau():
    kinds = ("LambdaLR", "ReduceLROnPlateau")
    cut, back = [(1.0, 1.0), (1.0, 0.5)], [(0.5, 1.0)]
    finding = only(check(run(cut, back, cut, back, kinds=kinds)), reason="cut-undone")
    assert (finding.first_step, finding.last_step) == (0, 3)
    assert "in steps 0 and 2, to 0.5, but it is back at 1" in finding.message
    assert check(run(cut, back, cut, kinds=kinds)) == ()
    kept = [(0.5, 0.5), (0.5, 0.25)]
    assert check(run(cut, kept, [(0.25, 0.25)], kinds=kinds)) == ()
