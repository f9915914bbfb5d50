"""DAT080: workers, copies and epochs that draw the same, and those that do not."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import HeldGenerator, LoaderStart, WorkerStart
from ftlab.rules.data.draws_repeated import DrawsRepeated
from tests.rules.data.loaders import (
    check,
    is_left_out_without_a_loader_and_open_on_an_empty_run,
)
from tests.runs import only

RULE = DrawsRepeated()
NAME = "Rows.rng"


def found(reason, *starts, **more):
    findings = check(RULE, *starts, **more)
    return [each for each in findings if each.evidence["reason"] == reason]


def test_a_run_without_a_loader_is_left_out():
    assert is_left_out_without_a_loader_and_open_on_an_empty_run(RULE)


def seeded(
    *places, drawn=("rng_numpy",), seed=0, sampler="Random", step=0, reseeded=True
):
    """A loader whose workers begin at these places of NumPy's generator."""
    moved = {"rng_numpy": seed} if reseeded else {}
    started = tuple(
        WorkerStart(number, 70 + number, {"rng_numpy": place}, moved, drawn=drawn)
        for number, place in enumerate(places)
    )
    return LoaderStart(step, sampler=sampler, workers=len(places), started=started)


def test_workers_that_draw_alike():
    finding = only(found("workers", seeded(5.0, 5.0, 6.0)), "warning")
    assert finding.place == Place("object", "worker_init_fn: numpy.random")
    said = "seeds numpy.random alike with 0 in 2 of 3 workers, and 2 of them draw"
    assert said in finding.message
    (unknown,) = found("workers", seeded(5.0, 5.0, seed=None))
    assert "alike in 2 of 2 workers" in unknown.message


def test_workers_that_have_not_told_of_their_end_are_a_note():
    only(found("workers", seeded(5.0, 5.0, drawn=None)), "info")
    (later,) = found("workers", seeded(5.0, 5.0), seeded(5.0, 5.0, drawn=None, step=9))
    assert later.severity is Severity.WARNING


@pytest.mark.parametrize(
    "healthy",
    [
        seeded(5.0, 6.0),
        seeded(5.0),
        seeded(5.0, 5.0, drawn=()),
        seeded(5.0, 5.0, drawn=("rng_python",)),
        seeded(5.0, 5.0, sampler=""),
        seeded(5.0, 5.0, reseeded=False),
    ],
)
def test_other_workers_are_healthy(healthy):
    assert found("workers", healthy) == []


def copied(*places, drawn=(NAME,), sampler="Random", step=0):
    """A loader whose workers' copies begin at these places."""
    started = tuple(
        WorkerStart(number, 70, held={NAME: place}, drawn=drawn)
        for number, place in enumerate(places)
    )
    held = (HeldGenerator(NAME, "NumPy", 3, 1.0),)
    known = {"workers": len(places), "started": started, "held": held}
    return LoaderStart(step, sampler=sampler, **known)


def test_copies_that_are_drawn_from():
    finding = only(found("copies", copied(1.0, 1.0)), "warning")
    assert finding.place == Place("object", NAME)
    assert "2 copies of Rows.rng (NumPy), in 2 workers" in finding.message


def test_one_worker_in_two_epochs():
    (finding,) = found("copies", copied(1.0), copied(1.0, step=4))
    assert "2 copies of Rows.rng (NumPy), in 1 workers" in finding.message


def test_copies_of_which_nobody_knows_whether_they_are_used_are_a_note():
    only(found("copies", copied(1.0, 1.0, drawn=None)), "info")


@pytest.mark.parametrize(
    "healthy",
    [
        copied(1.0, 2.0),
        copied(1.0),
        copied(),
        copied(1.0, 1.0, drawn=()),
        copied(1.0, 1.0, sampler=""),
    ],
)
def test_other_generators_are_healthy(healthy):
    assert found("copies", healthy) == []


def epoch(step, *places, drawn=("rng_python",), reseeded=True, sampler="Random"):
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


def test_epochs_whose_workers_begin_alike():
    (finding,) = found("epochs", epoch(0, 1.0, 2.0), epoch(4, 1.0, 2.0, drawn=None))
    assert finding.severity is Severity.WARNING
    assert "Python's random in 2 workers begins at the same place in each of 2" in (
        finding.message
    )


def test_a_main_process_that_is_seeded_in_each_epoch():
    states = [1.0, 2.0, 1.0, 2.0]
    (finding,) = found("epochs", alone(0, 9.0), alone(2, 9.0), states=states)
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
    assert found("epochs", *starts) == []


@pytest.mark.parametrize(
    ("places", "states"), [((9.0, 8.0), [1.0, 2.0, 1.0]), ((9.0, 9.0), [1.0, 1.0, 1.0])]
)
def test_a_main_process_that_goes_on_or_draws_nothing(places, states):
    starts = [alone(2 * number, place) for number, place in enumerate(places)]
    assert found("epochs", *starts, states=states) == []
