"""DAT082."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import HeldGenerator, LoaderStart, WorkerStart
from ftlab.rules.data.generator_copied_to_workers import GeneratorCopiedToWorkers
from tests.rules.data.loaders import (
    check,
    is_left_out_without_a_loader_and_open_on_an_empty_run,
)

RULE = GeneratorCopiedToWorkers()
NAME = "Rows.rng"


def start(*places, drawn=(NAME,), sampler="Random", step=0):
    """A loader whose workers' copies begin at these places."""
    started = tuple(
        WorkerStart(number, 70, held={NAME: place}, drawn=drawn)
        for number, place in enumerate(places)
    )
    held = (HeldGenerator(NAME, "NumPy", 3, 1.0),)
    known = {"workers": len(places), "started": started, "held": held}
    return LoaderStart(step, sampler=sampler, **known)


def test_a_run_without_a_loader_is_left_out():
    assert is_left_out_without_a_loader_and_open_on_an_empty_run(RULE)


def test_copies_that_are_drawn_from():
    (finding,) = check(RULE, start(1.0, 1.0))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("object", NAME)
    assert "2 copies of Rows.rng (NumPy), in 2 workers" in finding.message


def test_one_worker_in_two_epochs():
    (finding,) = check(RULE, start(1.0), start(1.0, step=4))
    assert "2 copies of Rows.rng (NumPy), in 1 workers" in finding.message


def test_copies_of_which_nobody_knows_whether_they_are_used_are_a_note():
    (finding,) = check(RULE, start(1.0, 1.0, drawn=None))
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize(
    "healthy",
    [
        start(1.0, 2.0),
        start(1.0),
        start(),
        start(1.0, 1.0, drawn=()),
        start(1.0, 1.0, sampler=""),
    ],
)
def test_other_generators_are_healthy(healthy):
    assert check(RULE, healthy) == ()
