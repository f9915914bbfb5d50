"""The tokenizer's fingerprint in a run, live and on disk."""

import time

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError
from ftlab.records.event import Event
from ftlab.runlog.run import Run
from ftlab.session.run_tokenizer import fingerprint_of
from tests.probes.tokenizers.test_tokenizer_prints import made


def train(watch, model, optimizer, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()


def watched(folder, tokenizer):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer, tokenizer=tokenizer, run_dir=folder) as watch:
        train(watch, model, optimizer)
    return watch


def test_training_and_serving_are_compared_by_the_log(tmp_path):
    tokenizer = made()
    watch = watched(tmp_path / "run", tokenizer)
    assert watch.fingerprint == ftlab.fingerprint(tokenizer)
    run = ftlab.open_run(tmp_path / "run")
    assert run.fingerprint == ftlab.fingerprint(tokenizer)
    served = made()
    served.eos_token = "a"
    view = ftlab.tokenizer_diff(run.fingerprint, served)
    assert view.diff.prints[0].differing(view.diff.prints[1]) == ("special tokens",)
    assert ftlab.tokenizer_diff(run.fingerprint, tokenizer).same


def test_a_run_without_a_tokenizer_says_what_to_pass(tmp_path):
    watch = watched(tmp_path / "run", None)
    with pytest.raises(BadValueError, match=r"no fingerprint.*tokenizer=\.\.\."):
        _ = watch.fingerprint


def test_the_last_one_is_told():
    run = Run()
    tokenizer = made()
    for step in range(2):
        kept = ftlab.fingerprint(tokenizer).fingerprint.as_json()
        detail = {"fingerprint": kept}
        run.append(Event("tokenizer", step, time.time(), "", detail))
        tokenizer.add_tokens(["c"])
    assert fingerprint_of(run).parts["vocabulary"].size == 4


@pytest.mark.parametrize("detail", [{}, {"fingerprint": []}, {"fingerprint": {}}])
def test_a_damaged_log_is_said_in_words(detail):
    run = Run()
    run.append(Event("tokenizer", 0, time.time(), "", detail))
    with pytest.raises(BadValueError, match="is damaged"):
        fingerprint_of(run)
