"""Sources of randomness of a real Trainer, and of two processes that train together."""

import functools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import llama
from ftlab.faults.builders.trainers import trained
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.reader import open_log
from ftlab.runlog.same_data import same_data
from ftlab.runlog.seed_chain import sources_of

ROOT = Path(__file__).parents[2]

RANKED = """
import ftlab
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from tests.probes.seeds.trainings import Augmented, seed_all
from ftlab.faults.builders.tiny import llama
torch.set_num_threads(1)
dist.init_process_group("gloo")
seed_all(3)
model = llama(vocab_size=64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = Augmented()
sampler = DistributedSampler(rows, seed=11)
given = {"sampler": sampler} if DIVIDED else {"shuffle": True}
loader = DataLoader(rows, batch_size=4, num_workers=1, **given)
with ftlab.watch(model, optimizer, run_dir="log"):
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
dist.destroy_process_group()
"""


def table(count=32):
    from datasets import Dataset

    drawn = torch.Generator().manual_seed(1)
    rows = torch.randint(3, 60, (count, 8), generator=drawn).tolist()
    return Dataset.from_list([{"input_ids": r, "labels": r} for r in rows])


def train(rows=None, resume=None, **settings):
    """Train a few steps; returns the watch and the trainer."""
    settings = {"max_steps": 10, "seed": 5} | settings
    torch.manual_seed(0)  # of the weights
    case = trained(
        llama(vocab_size=64, attention_dropout=0.3),
        rows=table() if rows is None else rows,
        **settings,
    )
    watch = ftlab.watch(case.trainer)
    case.trainer.train(resume_from_checkpoint=resume)
    watch.detach()
    return watch, case


def order(watch):
    return next(e for e in sources_of(watch.run) if e.name == "order of samples")


@functools.cache
def plain():
    return train()[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "random, drawn with seed 5; set_epoch 0, 1"),
        ({"data_seed": 9}, "random, drawn with seed 9; set_epoch 0, 1"),
        (
            {"accelerator_config": {"use_seedable_sampler": False}},
            "random, drawn with torch's generator",
        ),
    ],
)
def test_what_a_trainer_draws_its_order_with(settings, said):
    watch, _ = train(**settings)
    assert order(watch).value == said
    assert same_data(watch.run).same is True


def test_two_data_seeds_are_told_apart():
    found = plain().seeds.against(train(data_seed=9)[0])
    assert found.step == 0
    assert "with the seed 5, and the seed 9" in repr(found)


def test_the_same_rows_in_another_order_are_another_dataset():
    found = plain().seeds.against(train(rows=table().select(range(31, -1, -1)))[0])
    assert "the same samples in another order: the dataset itself" in repr(found)


@pytest.mark.parametrize(
    ("shuffle", "same", "said"),
    [
        (lambda stream: stream, True, "in order; set_epoch 0, 1"),
        (
            lambda stream: stream.shuffle(seed=3),
            True,
            "random, drawn with seed 3; set_epoch 0, 1",
        ),
        (
            lambda stream: stream.shuffle(),
            False,
            "random, drawn with no seed of its own; set_epoch 0, 1",
        ),
    ],
)
def test_a_stream_of_a_trainer(shuffle, same, said):
    watch, _ = train(rows=shuffle(table().to_iterable_dataset()))
    assert order(watch).value == said
    assert same_data(watch.run).same is same


def test_a_resumed_training_sees_what_the_whole_one_does():
    whole, case = train(save_strategy="steps", save_steps=5)
    checkpoint = f"{case.trainer.args.output_dir}/checkpoint-5"
    on, _ = train(resume=checkpoint)
    assert "  resume: from step 5; batches of its epoch that were used" in repr(
        on.seeds
    )
    assert loader_starts(on.run)[0].skipped == 5
    assert whole.seeds.against(on).step == -1
    anew, _ = train(resume=checkpoint, ignore_data_skip=True)
    found = whole.seeds.against(anew)
    assert found.step == 5
    assert "begins its epoch anew (ignore_data_skip)" in repr(found)


def two_processes(folder, divided):
    """Train in two processes; returns the runs of both."""
    script = RANKED.replace("DIVIDED", str(divided))
    (folder / "train.py").write_text(textwrap.dedent(script))
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *launch, "train.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [open_log(folder / "log", rank=rank) for rank in (0, 1)]


def told_of(run):
    return {each.name: each.value for each in sources_of(run)}


@pytest.mark.slow
def test_two_processes_have_one_order_and_seeds_of_their_own(tmp_path):
    runs = two_processes(tmp_path, divided=True)
    for run in runs:
        assert told_of(run)["processes"] == "2"
        order = "random, drawn with seed 11; set_epoch 0, 1"
        assert told_of(run)["order of samples"] == order
        assert same_data(run).same is True
        assert [e.started[0].drawn for e in loader_starts(run)] == [("rng_python",)] * 2
    seeds = [loader_starts(run)[0].started[0].seed for run in runs]
    assert seeds[0] == seeds[1]  # torch gives the workers of all ranks the same


@pytest.mark.slow
def test_two_processes_among_which_nothing_divides_the_rows_are_told(tmp_path):
    for run in two_processes(tmp_path, divided=False):
        assert told_of(run)["processes"].startswith("2; all were fed the same rows, in")
