"""Two runs bit by bit: the first step, the first quantity, the first sample."""

import numpy as np

from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.run import Run
from ftlab.runlog.run_comparison import (
    GRADIENTS,
    IDS,
    LOSS,
    OTHERS,
    RATES,
    Parting,
    compare_runs,
)

TORCH = "random numbers of torch"


def run_of(losses, rows=(), *, first=0, lr=(1e-3,), named=10, **values):
    """Build a run: a loss for each step, and rows of digests by step."""
    run = Run()
    places = [(0, 0), (0, 1), (1, 0)]
    for at, (micro_batch, row) in enumerate(places):
        meta = {"micro_batch": micro_batch, "row": row}
        run.append(NameRecord(named + at, "samples", f"{at}", "sample", "", meta=meta))
    for at, loss in enumerate(losses):
        step = first + at
        if at < len(rows):
            ids = np.arange(named, named + len(rows[at]), dtype=np.int32)
            fed = np.array(rows[at], np.float32)
            run.append(Block("samples", step, ids, {"ids": fed, "others": fed + 1}))
        own = {name: float(column[at]) for name, column in values.items()}
        record = StepRecord(step, 0.0, loss=loss, grad_norm=loss, lr=lr, values=own)
        run.append(record)
    return run


def parted(one, other):
    return {e.what: e.step for e in compare_runs(one, other).partings if e.step >= 0}


def test_runs_that_are_the_same_have_no_parting():
    nan = float("nan")
    one, other = (run_of([1.0, nan], [[5, 6], [7, 8]], rng_torch=[3, 4]) for _ in "ab")
    found = compare_runs(one, other)
    assert (found.steps, found.first) == (2, None)
    assert [e.what for e in found.partings] == [
        IDS,
        OTHERS,
        RATES,
        LOSS,
        GRADIENTS,
        TORCH,
    ]


def test_the_first_sample_is_told_whatever_its_rows_are_numbered():
    one = run_of([1, 2, 3], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    other = run_of([1, 2, 3], [[1, 2, 3], [4, 5, 0], [0, 8, 9]], named=40)
    assert compare_runs(one, other).first == Parting(IDS, 1, (1, 0))
    assert parted(one, other) == {IDS: 1, OTHERS: 1}


def test_a_row_that_one_run_lacks_is_a_difference():
    one, other = run_of([1, 2], [[1], [2, 3]]), run_of([1, 2], [[1], [2]])
    assert compare_runs(one, other).first == Parting(IDS, 1, (0, 1))


def test_what_comes_first_in_a_step_is_told_first():
    one = run_of([1, 2, 3], [[1], [2], [3]], rng_torch=[1, 2, 3])
    other = run_of([1, 4, 3], [[1], [2], [9]], lr=(2e-3,), rng_torch=[1, 0, 3])
    assert parted(one, other) == {
        RATES: 0,
        LOSS: 1,
        GRADIENTS: 1,
        TORCH: 1,
        IDS: 2,
        OTHERS: 2,
    }
    assert compare_runs(one, other).first.what == RATES


def test_only_steps_that_both_have_are_compared():
    one = run_of([1, 2, 3], [[1], [2], [3]])
    other = run_of([2, 3, 5], [[2], [3], [5]], first=1)
    found = compare_runs(one, other)
    assert (found.steps, found.first) == (2, None)
    assert compare_runs(one, run_of([1], first=9)).steps == 0
    assert compare_runs(one, run_of([1], first=9)).first is None


def test_what_only_one_run_has_recorded_is_not_compared():
    one, other = run_of([1, 2], [[1], [2]], rng_torch=[1, 2]), run_of([1, 2])
    assert [each.what for each in compare_runs(one, other).partings] == [
        RATES,
        LOSS,
        GRADIENTS,
    ]


def test_another_number_of_rates_is_a_difference():
    one, other = run_of([1, 2]), run_of([1, 2], lr=(1e-3, 1e-4))
    assert parted(one, other) == {RATES: 0}


def test_a_generator_that_nobody_draws_from_may_stand_anywhere():
    one, other = (run_of([1, 2, 3], rng_torch=[n] * 3) for n in (5, 9))
    assert parted(one, other) == {}


def test_generators_that_began_elsewhere_and_are_drawn_alike_have_not_parted():
    one, other = (run_of([1, 2, 3], rng_torch=[n, n + 1, n + 1]) for n in (5, 9))
    assert parted(one, other) == {}


def test_a_step_that_draws_in_one_run_alone_is_told():
    one, other = (run_of([1, 2, 3], rng_torch=[5, 5, at]) for at in (5, 6))
    assert parted(one, other) == {TORCH: 2}
    more, less = (run_of([1, 2, 3], rng_torch=[5, at, at]) for at in (6, 7))
    assert parted(more, less) == {TORCH: 1}


def test_what_was_drawn_before_the_first_step_counts():
    start = Facts(training={"randomness": {"rng": {"rng_torch": 4}}})
    runs = [run_of([1, 2], rng_torch=[at, at]) for at in (4, 5)]
    for run in runs:
        run.append(start)
    assert parted(*runs) == {TORCH: 0}


def test_other_samples_of_the_next_step_come_before_a_generator():
    one = run_of([1, 2, 3], [[1], [2], [3]], rng_torch=[5, 5, 5])
    other = run_of([1, 2, 3], [[1], [2], [4]], rng_torch=[5, 6, 6])
    assert compare_runs(one, other).first == Parting(IDS, 2, (0, 0))
    fed = [[1], [2], [3]]
    before = run_of([1, 2, 3, 4], [*fed, [4]], rng_torch=[5, 5, 5, 5])
    later = run_of([1, 2, 3, 4], [*fed, [9]], rng_torch=[5, 6, 6, 6])
    assert compare_runs(before, later).first == Parting(TORCH, 1)
