"""Out of memory at a watch's boundary: explained, and raised unchanged."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest
import torch

import ftlab
from ftlab.session.out_of_memory import _shape, explain_error
from tests.models import Rows, batches, tiny_lora, update


def steps(model, optimizer, rows, after=lambda: None):
    for batch in rows:
        update(model(**batch).loss, optimizer)
        after()


def run_out():
    torch.empty(2**50)


def watched(tmp_path, after):
    model = tiny_lora()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run"):
        steps(model, optimizer, batches(2), after)


def test_a_huge_allocation_is_told_from_the_step(tmp_path):
    with pytest.raises(RuntimeError) as caught:
        watched(tmp_path, run_out)
    assert str(caught.value).startswith("[enforce fail")  # as torch has raised it
    (note,) = caught.value.__notes__
    assert re.search(r"4 PiB asked for at test_out_of_memory.py:\d+ run_out", note)
    assert "a step of 4 x 16 tokens is predicted to take" in note
    assert "the step itself fits" in note


STALE = """
for rows in [given]:
    step(rows)
"""


def test_a_notebooks_stale_batch_is_not_taken_for_the_one_that_failed(tmp_path):
    (given,) = batches(1, size=2)
    (stale,) = batches(1, size=8)
    model = tiny_lora()

    def step(rows):
        model(**rows)
        run_out()

    names = {"batch": stale, "step": step, "given": given}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with (
        pytest.raises(RuntimeError) as caught,
        ftlab.watch(model, optimizer, run_dir=tmp_path / "run"),
    ):
        exec(compile(STALE, "cell", "exec"), names)
    assert "a step of 2 x 16 tokens" in caught.value.__notes__[0]
    cell = "for rows in [given]:\n    fail()"
    with pytest.raises(RuntimeError) as caught:
        exec(compile(cell, "cell", "exec"), names | {"fail": run_out})
    assert _shape(caught.value.__traceback__) == (2, 16)


def test_the_run_has_it_too(tmp_path):
    with pytest.raises(RuntimeError):
        watched(tmp_path, run_out)
    lines = (tmp_path / "run" / "rank-00000" / "events.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines[1:]]
    assert any("out of memory" in e["message"] for e in told if e["kind"] == "note")


def test_a_trainer_is_told_too(tmp_path):
    from transformers import Trainer, TrainingArguments

    class Greedy(Trainer):
        def training_step(self, *args, **kwargs):
            loss = super().training_step(*args, **kwargs)
            run_out()
            return loss

    options = TrainingArguments(
        output_dir=str(tmp_path), max_steps=2, report_to=[], use_cpu=True
    )
    trainer = Greedy(tiny_lora(), options, train_dataset=Rows(8))
    with (
        pytest.raises(RuntimeError) as caught,
        ftlab.watch(trainer, run_dir=tmp_path / "run"),
    ):
        trainer.train()
    (note,) = caught.value.__notes__
    assert "4 PiB asked for" in note
    assert "a step of 8 x 16 tokens is predicted to take" in note


@pytest.mark.parametrize("call", ["model(ids)", "model(input_ids=ids, labels=ids)"])
def test_a_batch_of_any_name_is_found_after_the_forward(tmp_path, call):
    (batch,) = batches(1, size=2)
    model = tiny_lora()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    names = {"model": model, "ids": batch["input_ids"], "fail": run_out}
    loop = f"def loop(model, ids):\n    out = {call}\n    fail()\n"
    exec(compile(loop, "loop.py", "exec"), names)
    with (
        pytest.raises(RuntimeError) as caught,
        ftlab.watch(model, optimizer, run_dir=tmp_path / "run"),
    ):
        names["loop"](model, batch["input_ids"])
    assert "a step of 2 x 16 tokens" in caught.value.__notes__[0]


def test_other_errors_carry_no_note(tmp_path):
    def fail():
        msg = "another one"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="another one") as caught:
        watched(tmp_path, fail)
    assert not hasattr(caught.value, "__notes__")


def test_without_a_watch_nothing_is_said():
    error = MemoryError()
    explain_error(error, None)
    assert not hasattr(error, "__notes__")


SCRIPT = """
    import resource, torch, ftlab
    from ftlab.faults.builders.tiny import llama

    model = llama(hidden_size=128, num_hidden_layers=4, max_position_embeddings=512)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.ones(64, 512, dtype=torch.int64)
    batch = {"input_ids": ids, "labels": ids}

    def limit():
        ftlab.memory(model, (2, 8))  # what is imported late is there
        now = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (now + 900 * 2**20, -1))

    def train(rows):
        for name, value in batch.items():
            batch[name] = value[:rows]
        model(**batch).loss.backward()
        optimizer.step()

    limit()
    try:
        with ftlab.watch(model, optimizer):
            train(64)
    except RuntimeError as error:
        print(error.__notes__[0])
    train(32)
    print("it fits")
"""


WHOLE = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""Else what is freed keeps its addresses, and how many depends on the threads."""


def told_by(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, file],
        cwd=tmp_path,
        env=os.environ | WHOLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_a_step_too_large_is_told_the_smallest_change_and_that_fits(tmp_path):
    said = told_by(tmp_path)
    assert re.search(r"out of memory, .* asked for at train.py:\d+ train", said)
    assert "made by the step that failed" in said
    assert "MiB weights: model (LlamaForCausalLM)" in said
    assert "a step of 64 x 512 tokens is predicted to take 937 MiB" in said
    change = "per_device_train_batch_size=32, gradient_accumulation_steps=2"
    assert f"Smallest change that fits: {change}" in said
    assert "it fits" in said
