"""DAT081."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import LoaderStart, WorkerStart
from ftlab.rules.data.epochs_drawn_alike import EpochsDrawnAlike
from tests.rules.data.loaders import (
    check,
    is_left_out_without_a_loader_and_open_on_an_empty_run,
)

RULE = EpochsDrawnAlike()
DREW = ("rng_python",)


def epoch(step, *places, drawn=DREW, reseeded=True, sampler="Random"):
    """An epoch whose workers begin at these places of Python's generator."""
    moved = {"rng_python": 7} if reseeded else {}
    started = tuple(
        WorkerStart(number, 70, {"rng_python": place}, moved, drawn=drawn)
        for number, place in enumerate(places)
    )
    return LoaderStart(step, sampler=sampler, workers=2, started=started)


def alone(step, place):
    """An epoch without workers."""
    return LoaderStart(step, dataset="D", sampler="R", rng={"rng_python": place})


def test_a_run_without_a_loader_is_left_out():
    assert is_left_out_without_a_loader_and_open_on_an_empty_run(RULE)


def test_epochs_whose_workers_begin_alike():
    (finding,) = check(RULE, epoch(0, 1.0, 2.0), epoch(4, 1.0, 2.0, drawn=None))
    assert finding.severity is Severity.WARNING
    assert "Python's random in 2 workers begins at the same place in each of 2" in (
        finding.message
    )


def test_a_main_process_that_is_seeded_in_each_epoch():
    states = [1.0, 2.0, 1.0, 2.0]
    (finding,) = check(RULE, alone(0, 9.0), alone(2, 9.0), states=states)
    assert finding.place == Place("object", "D: Python's random")
    assert "Seed once" in finding.fix


@pytest.mark.parametrize(
    "starts",
    [
        [epoch(0, 1.0, 2.0)],
        [epoch(0, 1.0, 2.0), epoch(4, 1.0, 3.0)],
        [epoch(0, 1.0, 2.0), epoch(4, 1.0, 2.0), epoch(8, 5.0, 2.0)],
        [epoch(0, 1.0, 2.0, drawn=()), epoch(4, 1.0, 2.0)],
        [epoch(0, 1.0, 2.0, drawn=None), epoch(4, 1.0, 2.0)],
        [epoch(0, 1.0, 2.0, reseeded=False), epoch(4, 1.0, 2.0, reseeded=False)],
        [epoch(0, 1.0, 2.0, sampler=""), epoch(4, 1.0, 2.0, sampler="")],
        [epoch(0, 1.0, 2.0), epoch(4)],
    ],
)
def test_other_epochs_are_healthy(starts):
    assert check(RULE, *starts) == ()


@pytest.mark.parametrize(
    ("places", "states"), [((9.0, 8.0), [1.0, 2.0, 1.0]), ((9.0, 9.0), [1.0, 1.0, 1.0])]
)
def test_a_main_process_that_goes_on_or_draws_nothing(places, states):
    starts = [alone(2 * number, place) for number, place in enumerate(places)]
    assert check(RULE, *starts, states=states) == ()
