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
    with pytest.raises(
        BadValueError, match=r"no tokenizer fingerprint.*tokenizer=\.\.\."
    ):
        _ = watch.fingerprint


def run_of(*details) -> Run:
    run = Run()
    for step, detail in enumerate(details):
        run.append(Event("tokenizer", step, time.time(), "", detail))
    return run


def test_the_last_one_is_told_also_where_it_came_back():
    tokenizer = made()
    first = ftlab.fingerprint(tokenizer).fingerprint
    tokenizer.padding_side = "left"
    second = ftlab.fingerprint(tokenizer).fingerprint
    assert first.digest != second.digest
    told = [
        {"digest": each.digest, "fingerprint": each.as_json()}
        for each in (first, second)
    ]
    assert fingerprint_of(run_of(*told)).fingerprint == second
    back = {"digest": first.digest, "changed": ["padding and truncation"]}
    assert fingerprint_of(run_of(*told, back)).fingerprint == first


@pytest.mark.parametrize(
    "detail",
    [
        {},
        {"digest": "0"},
        {"digest": "0", "fingerprint": []},
        {"digest": "0", "fingerprint": {"parts": {}}},
    ],
)
def test_a_damaged_log_is_said_in_words(detail):
    with pytest.raises(BadValueError, match="cannot be read"):
        fingerprint_of(run_of(detail))
