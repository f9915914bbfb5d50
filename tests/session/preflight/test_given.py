"""What preflight refuses, and how it says what to pass instead."""

import pytest
import torch

import ftlab
from ftlab.records.errors import AttachError, BadValueError, RunFolderError
from tests.models import tiny_lora
from tests.session.scenarios import trainer

NET = torch.nn.Linear(2, 1)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (None, "no trainer and no model"),
        (3, "was given an int; pass a transformers.Trainer"),
        (torch.nn.ReLU(), "has no parameters, so there is nothing to check"),
    ],
)
def test_what_is_no_model_is_refused(target, words):
    with pytest.raises(AttachError, match=words):
        ftlab.preflight(target)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"optimizer": "adamw"}, r"optimizer='adamw' has no step\(\)"),
        ({"step": 3}, "step=3 is not callable"),
        ({"batch": 1, "batches": [1]}, "batch= and batches="),
        ({"batches": iter([1])}, "a list_iterator, which preflight would exhaust"),
        ({"batches": {"input_ids": 1}}, "a single one as batch="),
        ({"batches": 3}, "batches= is an int"),
        ({"model": NET}, "two models"),
        ({"adapter": 3}, "adapter=3 is an int"),
        ({"adapter": "nowhere"}, "'nowhere' is not a folder"),
        ({"trained_in": 3}, "trained_in=3 is not a run"),
        ({"dry_steps": 3}, "dry_steps=3; allowed are 0, 1 and 2"),
        ({"dry_steps": -1}, "dry_steps=-1"),
    ],
)
def test_bad_values_are_named_with_what_is_allowed(given, words):
    with pytest.raises(BadValueError, match=words):
        ftlab.preflight(NET, **given)


def test_a_run_that_does_not_exist_is_named():
    with pytest.raises(RunFolderError, match="nowhere"):
        ftlab.preflight(NET, trained_in="nowhere")


def test_a_trainer_brings_its_own_optimizer():
    optimizer = torch.optim.SGD(NET.parameters())
    with pytest.raises(BadValueError, match="Trainer and optimizer=; a trainer"):
        ftlab.preflight(trainer(), optimizer=optimizer)


def test_a_trainer_in_a_debugger_is_refused():
    each = trainer()
    with ftlab.debug(each), pytest.raises(AttachError, match="A debugger holds this"):
        ftlab.preflight(each)
    assert len(ftlab.preflight(each)) > 10


def test_a_watched_model_is_refused(tmp_path):
    model = tiny_lora()
    with (
        ftlab.watch(model, run_dir=tmp_path / "run") as watch,
        pytest.raises(AttachError, match=r"is being watched.*watch\.checklist"),
    ):
        ftlab.preflight(model)
    assert len(watch.run.steps) == 0


def test_the_run_of_an_adapter_is_opened_from_folder_watch_or_run(tmp_path):
    from ftlab.session.preflight.given import target_of

    model = tiny_lora()
    with ftlab.watch(model, run_dir=tmp_path / "run") as watch:
        pass
    facts = watch.run.facts
    folder = tmp_path / "run"
    for run in (folder, watch, watch.run, ftlab.open_run(folder), facts):
        given = target_of(NET, {"trained_in": run})
        assert given.trained_as.model["class"] == facts.model["class"]
