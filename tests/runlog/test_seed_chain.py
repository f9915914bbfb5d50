"""Sources of randomness of real runs."""

import pytest

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.loader_start import HeldGenerator, LoaderStart, WorkerStart
from ftlab.runlog.run import Run
from ftlab.runlog.seed_chain import sources_of, torch_is_fixed
from tests.probes.seeds.trainings import train


def run_of(start=None, training=None):
    run = Run()
    if training is not None:
        run.append(Facts(training=training))
    if start is not None:
        run.append(Event("loader", 0, 0.0, "", start.as_json()))
    return run


def test_a_real_run_names_its_seed_and_its_workers():
    found = {each.name: each for each in sources_of(train(seed=5, num_workers=2))}
    assert found["torch"].value == "seed 5"
    assert found["order of samples"].value == "random, drawn with torch's generator"
    assert {"worker 0", "worker 1", "kernels"} <= set(found)
    assert found["Python's random"].value == found["numpy.random"].value == "seed 5"
    assert found["worker 1"].value.endswith("; draws from Python's random")
    fixed = ("torch", "Python's random", "numpy.random", "order of samples", "worker 0")
    assert all(found[name].fixed for name in fixed)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (LoaderStart(0, order="in order"), "in order"),
        (LoaderStart(0, order="stream", epoch=2), "that of the stream; set_epoch 2"),
        (LoaderStart(0, order="own", sampler="ByLength"), "that of ByLength"),
        (LoaderStart(0, order="random"), "random, drawn with torch's generator"),
        (LoaderStart(0, order="random", seed=3), "random, drawn with seed 3"),
        (
            LoaderStart(0, order="random", seed=1 << 100),
            "random, drawn with no seed of its own",
        ),
    ],
)
def test_orders_in_words(start, said):
    (source,) = sources_of(run_of(start))
    assert source.value == said


def test_generators_of_a_dataset_and_its_fingerprint():
    held = (
        HeldGenerator("Rows.a", "NumPy", 7),
        HeldGenerator("Rows.b", "NumPy", 1 << 100),
        HeldGenerator("Rows.c", "Python"),
    )
    start = LoaderStart(0, order="in order", held=held, contents="ab12")
    found = {e.name: (e.value, e.fixed) for e in sources_of(run_of(start))}
    assert found == {
        "order of samples": ("in order", True),
        "dataset": ("fingerprint ab12", None),
        "Rows.a": ("NumPy, seed 7", True),
        "Rows.b": ("NumPy, no seed was given", False),
        "Rows.c": ("Python, no seed is known", None),
    }


def test_what_a_worker_s_function_seeds():
    reseeded = {"rng_python": 3, "rng_numpy": 3, "rng_torch": None}
    start = LoaderStart(0, workers=1, started=(WorkerStart(0, 9, {}, reseeded),))
    *_, worker = sources_of(run_of(start))
    assert worker.value == (
        "seed 9; worker_init_fn seeds Python's random and numpy.random with 3; "
        "worker_init_fn seeds torch with another number"
    )


@pytest.mark.parametrize(
    ("resumed", "said"),
    [
        ({"step": 5, "skips": True}, "batches of its epoch that were used are left"),
        ({"step": 5, "skips": False}, "its epoch begins anew (ignore_data_skip)"),
    ],
)
def test_where_a_training_was_resumed(resumed, said):
    (source,) = sources_of(run_of(training={"resumed": resumed}))
    assert source.name == "resume"
    assert source.value.startswith(f"from step 5; {said}")


def test_arguments_of_a_trainer_and_its_processes():
    args = {"seed": 3, "data_seed": 4, "full_determinism": True}
    found = sources_of(run_of(training={"args": args, "world_size": 2}))
    assert [(each.name, each.value) for each in found] == [
        ("TrainingArguments.seed", "3"),
        ("TrainingArguments.data_seed", "4"),
        ("TrainingArguments.full_determinism", "True"),
        ("processes", "2"),
    ]


@pytest.mark.parametrize(
    ("known", "fixed"),
    [
        ({"torch_seed": 5}, True),
        ({"torch_seed": 1 << 60}, False),
        ({"torch_seed": 1_700_000_000, "clock": 1_700_000_009}, None),
        ({}, None),
    ],
)
def test_a_seed_of_a_clock_is_no_choice(known, fixed):
    assert torch_is_fixed(known) is fixed


def test_a_seed_that_torch_has_drawn_itself_is_not_fixed():
    run = Run()
    run.append(Facts(training={"randomness": {"torch_seed": 1 << 60}}))
    (source,) = sources_of(run)
    assert source.fixed is False


def test_dropout_is_a_source_of_its_own():
    known = {"torch_seed": 7, "dropout": "0.1 in 2 modules"}
    run = Run()
    run.append(Facts(training={"randomness": known}))
    told = {each.name: (each.value, each.fixed) for each in sources_of(run)}
    assert told["dropout"] == ("0.1 in 2 modules", True)
