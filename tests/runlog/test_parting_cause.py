"""What a parting hangs on, in real pairs of trainings that differ in one thing."""

import random

import pytest
import torch

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.fingerprint import SIDES, Fingerprint, Part
from ftlab.records.loader_start import SYSTEM, HeldGenerator, LoaderStart
from ftlab.records.step import StepRecord
from ftlab.runlog.parting_cause import cause_of, loader_starts
from ftlab.runlog.run import Run
from ftlab.runlog.run_comparison import (
    GRADIENTS,
    IDS,
    LOSS,
    RATES,
    Parting,
    compare_runs,
)
from tests.probes.seeds.trainings import Augmented, train


def told(one, other):
    first = compare_runs(one, other).first
    return first, cause_of(one, other, first)


def generator(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def plain():
    return train()


def test_the_same_start_sees_the_same_data(plain):
    assert told(plain, train()) == (None, "")
    workers = {"num_workers": 2, "more": 0}
    assert told(train(**workers), train(**workers)) == (None, "")


def test_one_worker_s_seed():
    first, cause = told(*(train(num_workers=2, more=more) for more in (0, 7)))
    assert first == Parting(IDS, 1, (0, 0))
    assert cause.startswith("worker 1, which made the batch, began with other random")
    assert "numbers of Python's random" in cause
    assert "its worker_init_fn seeds it with 101, and 108" in cause


def test_one_worker_s_seed_within_micro_batches():
    settings = {"num_workers": 2, "accumulation": 4, "epochs": 2}
    first, cause = told(*(train(more=more, **settings) for more in (0, 7)))
    assert first == Parting(IDS, 0, (1, 0))
    assert cause.startswith("worker 1,")


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({}, {"seed": 1}, "drawn from torch's generator, which stood elsewhere"),
        ({"generator": 3}, {"generator": 4}, "with the seed 3, and the seed 4"),
        ({}, {"generator": 4}, "with torch's generator, and the seed 4"),
        ({}, {"shuffle": False}, "in a random order in one, and in order in the other"),
        ({}, {"num_workers": 1}, "the loader has 0 workers, and 1"),
        ({}, {"accumulation": 2}, "the step has 1 micro-batches, and 2"),
        ({}, {"batch_size": 4}, "the step has 2 rows, and 4"),
    ],
)
def test_what_the_samples_hang_on(one, other, said):
    runs = []
    for settings in (one, other):
        given = dict(settings)
        if "generator" in given:
            given["generator"] = generator(given["generator"])
        runs.append(train(**given))
    first, cause = told(*runs)
    assert first.what == IDS
    assert said in cause


def test_a_generator_that_something_has_drawn_from(plain):
    drawn = train(before=lambda number: random.random() if number == 3 else None)
    first, cause = told(plain, drawn)
    assert first == Parting("random numbers of Python's random", 2)
    assert cause == "something draws from it in one run and not in the other"


def test_another_draw_before_the_run(plain):
    def shifted():
        random.random()
        return generator(0)

    first, cause = told(train(generator=generator(0)), train(generator=shifted()))
    assert first is None, cause


def run_of(*losses, facts=None, loader=None, **values):
    run = Run()
    run.append(Facts(**(facts or {})))
    if loader is not None:
        run.append(Event("loader", loader.step, 0.0, "", loader.as_json()))
    for step, loss in enumerate(losses):
        own = {name: float(column[step]) for name, column in values.items()}
        run.append(StepRecord(step, 0.0, loss=loss, values=own))
    return run


def test_a_loss_of_the_same_samples():
    one = run_of(1, 2, facts={"versions": {"torch": "2.9"}}, rng_torch=[3, 4])
    same = run_of(1, 3, facts={"versions": {"torch": "2.9"}}, rng_torch=[3, 4])
    newer = run_of(1, 3, facts={"versions": {"torch": "2.10"}}, rng_torch=[3, 4])
    moved = run_of(1, 3, facts={"versions": {"torch": "2.9"}}, rng_torch=[9, 4])
    said = cause_of(one, same, Parting(LOSS, 1))
    assert said.startswith("loss and gradients of step 0 were the same, so its update")
    assert cause_of(one, same, Parting(LOSS, 0)).startswith("samples, random numbers")
    assert cause_of(one, newer, Parting(LOSS, 1)) == "versions differ: torch"
    said = "random numbers of torch stood elsewhere behind step 0"
    assert cause_of(one, moved, Parting(LOSS, 1)) == said
    assert "schedule" in cause_of(one, same, Parting(RATES, 1))
    assert cause_of(one, same, Parting(GRADIENTS, 1))


def test_generators_when_the_run_began():
    start = [{"training": {"randomness": {"rng": {"rng_numpy": n}}}} for n in (1, 2)]
    one, other = (run_of(1, facts=facts, rng_numpy=[7]) for facts in start)
    said = "random numbers of numpy.random stood elsewhere when the run began"
    assert cause_of(one, other, Parting(LOSS, 0)) == said
    still = [run_of(1, facts=each, rng_numpy=[n]) for n, each in enumerate(start, 1)]
    assert said not in cause_of(*still, Parting(LOSS, 0))


def test_loaders_are_read_in_order():
    run = run_of(1, 2, loader=LoaderStart(1))
    run.append(Event("loader", 0, 0.0, "", LoaderStart(0).as_json()))
    assert [each.step for each in loader_starts(run)] == [0, 1]


def test_epochs_of_a_sampler():
    loaders = (LoaderStart(0, order="random", seed=1, epoch=each) for each in (0, 1))
    one, other = (run_of(1, loader=each) for each in loaders)
    assert cause_of(one, other, Parting(IDS, 0, (0, 0))).endswith(
        "set_epoch has said 0, and 1"
    )


def test_generators_of_the_dataset():
    def start(seed, state, drawn=("Rows.rng",)):
        held = (HeldGenerator("Rows.rng", "NumPy", seed, state),)
        return LoaderStart(0, order="in order", held=held, drawn=drawn)

    found = Parting(IDS, 0, (0, 0))
    one, other = (run_of(1, loader=start(n, n)) for n in (1, 2))
    said = "Rows.rng stood elsewhere at the start: seed 1, and seed 2"
    assert cause_of(one, other, found) == said
    one, other = (run_of(1, loader=start(1 << 100, n)) for n in (1, 2))
    assert cause_of(one, other, found).endswith("the start: it was given no seed")
    one, other = (run_of(1, loader=start(n, n, ())) for n in (1, 2))
    assert "Rows.rng" not in cause_of(one, other, found)


def test_fingerprints_of_datasets():
    starts = (LoaderStart(0, order="in order", contents=each) for each in ("a", "b"))
    one, other = (run_of(1, loader=each) for each in starts)
    said = "the dataset itself was made otherwise: its fingerprint is a, and b"
    assert cause_of(one, other, Parting(IDS, 0, (0, 0))) == said


def test_a_run_that_was_resumed():
    resumed = {"training": {"resumed": {"step": 5, "skips": False}}}
    start = LoaderStart(0, order="random", seed=3)
    one, other = run_of(1, loader=start), run_of(1, facts=resumed, loader=start)
    said = "one was resumed at step 5, and begins its epoch anew (ignore_data_skip)"
    assert cause_of(one, other, Parting(IDS, 0, (0, 0))) == said


def test_other_rows_of_a_dataset():
    class Backwards(Augmented):
        def __getitem__(self, index):
            return super().__getitem__(15 - index)

    settings = {"shuffle": False, "before": lambda _: random.seed(0)}
    one, other = (train(rows=each, **settings) for each in (Augmented(), Backwards()))
    first, cause = told(one, other)
    assert first.what == IDS
    assert cause.startswith("the same samples in another order: in the dataset")


def test_settings_of_the_optimizer():
    groups = [[{"lr": 1e-3, "weight_decay": rate}] for rate in (0.0, 0.1)]
    one, other = (
        run_of(1, 2 + at, facts={"optimizers": ({"class": "SGD", "groups": each},)})
        for at, each in enumerate(groups)
    )
    said = "settings differ: weight_decay 0.0, and 0.1"
    assert cause_of(one, other, Parting(LOSS, 1)) == said


def with_print(parts):
    run = run_of(1)
    told = Fingerprint("Fast", "tokenizers", parts).as_json()
    run.append(Event("tokenizer", 0, 0.0, "", {"digest": "a", "fingerprint": told}))
    return run


def test_another_tokenizer():
    def part(digest):
        return Part(digest, 1, {})

    one = with_print({"vocabulary": part("a"), SIDES: part("a")})
    other = with_print({"vocabulary": part("b"), SIDES: part("a")})
    side = with_print({"vocabulary": part("a"), SIDES: part("b")})
    found = Parting(IDS, 0, (0, 0))
    assert cause_of(one, other, found) == "the tokenizer is another, in vocabulary"
    assert cause_of(one, side, found).startswith("the data, what prepares it")


def test_a_seed_of_hashes_is_named_where_nothing_else_is_known():
    known = ({"training": {"randomness": {"hash_seed": each}}} for each in "12")
    one, other = (run_of(1, facts=each) for each in known)
    said = "PYTHONHASHSEED is 1, and 2: sets come in another order"
    assert cause_of(one, other, Parting(IDS, 0, (0, 0))) == said


def test_a_generator_that_no_seed_sets():
    held = (HeldGenerator("SYS", SYSTEM),)
    runs = [run_of(1, loader=LoaderStart(0, order="in order", held=held))] * 2
    said = "rows may be drawn with SYS, which no seed sets"
    assert cause_of(*runs, Parting(IDS, 0, (0, 0))) == said


def test_other_processes_are_named_where_there_are_some():
    runs = [run_of(1, facts={"training": {"world_size": n}}) for n in (1, 2)]
    said = [cause_of(run, run, Parting(LOSS, 0)) for run in runs]
    assert ["another process was fed" in each for each in said] == [False, True]
