"""DAT080."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import LoaderStart, WorkerStart
from ftlab.rules.data.workers_seeded_alike import WorkersSeededAlike
from tests.rules.data.loaders import (
    check,
    is_left_out_without_a_loader_and_open_on_an_empty_run,
)

RULE = WorkersSeededAlike()
DREW = ("rng_numpy",)


def start(*places, drawn=DREW, seed=0, sampler="Random", step=0, reseeded=True):
    """A loader whose workers begin at these places of NumPy's generator."""
    moved = {"rng_numpy": seed} if reseeded else {}
    started = tuple(
        WorkerStart(number, 70 + number, {"rng_numpy": place}, moved, drawn=drawn)
        for number, place in enumerate(places)
    )
    return LoaderStart(step, sampler=sampler, workers=len(places), started=started)


def test_a_run_without_a_loader_is_left_out():
    assert is_left_out_without_a_loader_and_open_on_an_empty_run(RULE)


def test_workers_that_draw_alike():
    (finding,) = check(RULE, start(5.0, 5.0, 6.0))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("object", "worker_init_fn: numpy.random")
    said = "seeds numpy.random alike with 0 in 2 of 3 workers, and 2 of them draw"
    assert said in finding.message
    (unknown,) = check(RULE, start(5.0, 5.0, seed=None))
    assert "alike in 2 of 2 workers" in unknown.message


def test_workers_that_have_not_told_of_their_end_are_a_note():
    (finding,) = check(RULE, start(5.0, 5.0, drawn=None))
    assert finding.severity is Severity.INFO
    (later,) = check(RULE, start(5.0, 5.0), start(5.0, 5.0, drawn=None, step=9))
    assert later.severity is Severity.WARNING


@pytest.mark.parametrize(
    "healthy",
    [
        start(5.0, 6.0),
        start(5.0),
        start(5.0, 5.0, drawn=()),
        start(5.0, 5.0, drawn=("rng_python",)),
        start(5.0, 5.0, sampler=""),
        start(5.0, 5.0, reseeded=False),
    ],
)
def test_other_workers_are_healthy(healthy):
    assert check(RULE, healthy) == ()
