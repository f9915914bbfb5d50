"""The checklist of a run under way, and of one that was opened."""

import pytest
import torch

import ftlab
from ftlab.records.checklist import LAYERS
from ftlab.records.facts import Facts
from ftlab.records.step import StepRecord
from ftlab.rules.report import Report
from ftlab.runlog.run import Run
from ftlab.session.preflight.of_run import run_checklist
from tests.models import batches, tiny_lora, update
from tests.session.scenarios import trainer


def item_of(run, name):
    items = run_checklist(run, Report())
    return next(item for item in items if item.name == name)


def run_of(*steps, **facts):
    run = Run()
    run.append(Facts(**facts))
    for index, values in enumerate(steps):
        run.append(StepRecord(step=index, time=float(index), **values))
    return run


def test_a_watched_loop_has_all_layers_and_the_log_says_the_same(tmp_path):
    model = tiny_lora()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for batch in batches(4):
            update(model(**batch).loss, optimizer)
        live = watch.checklist
        assert {item.layer for item in live} == set(LAYERS)
        assert live.ok
    assert "steps 0 to 3" in repr(watch.checklist)
    recorded = ftlab.open_run(tmp_path / "run").checklist
    assert repr(recorded) == repr(watch.checklist)


def test_a_watch_that_waits_claims_nothing_of_the_model():
    watch = ftlab.watch(trainer())
    assert watch.checklist["model"][0].status == "not checked"
    assert watch.checklist["numerics"][-1].status == "not checked"
    watch.detach()


def test_a_trainers_arguments_are_judged_from_its_log(tmp_path):
    each = trainer(save_strategy="steps", save_steps=500, max_steps=2)
    with ftlab.watch(each, run_dir=tmp_path / "run") as watch:
        each.train()
    (item,) = (i for i in watch.checklist["rollback"] if "checkpoints" in i.name)
    assert (item.status, item.says) == ("passed", "only at the end, after 2 steps")
    assert watch.run.facts.training["args"]["save_strategy"] == "steps"


@pytest.mark.parametrize(("trained", "status"), [(0.0, "failed"), (4.0, "passed")])
def test_a_step_without_labels_is_named(trained, status):
    healthy = {"values": {"labels": 32.0, "ignored": 32.0}}
    run = run_of(healthy, {"values": {"labels": trained, "ignored": 64.0 - trained}})
    item = item_of(run, "labels to learn from")
    assert item.status == status
    assert ("first in step 1" in item.says) == (status == "failed")


def test_answers_alone_are_a_share_of_the_labels():
    batch = {"input_ids": torch.ones(2, 8).long(), "labels": torch.full((2, 8), -100)}
    batch["labels"][:, -2:] = 1
    model = tiny_lora()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer) as watch:
        for _ in range(2):
            model(**batch).loss.backward()
            optimizer.step()
    item = item_of(watch.run, "labels to learn from")
    assert (item.status, item.says) == ("passed", "25.0% of the labels are trained on")


def test_nothing_trainable_is_named():
    run = run_of(model={"class": "Net", "trainable": 0, "parameters": 10})
    item = item_of(run, "something is trainable")
    assert (item.status, item.says) == (
        "failed",
        "0 of 10 parameters are trainable",
    )


def test_a_rate_that_was_0_so_far_may_be_a_warm_up():
    run = run_of({"lr": (0.0,)}, {"lr": (0.0,)})
    assert item_of(run, "the learning rate is above 0").status == "not checked"
    run = run_of({"lr": (0.0,)}, {"lr": (0.0, 2e-4)})
    assert item_of(run, "the learning rate is above 0").says == (
        "at most 0.0002 over 2 steps"
    )


def test_a_step_that_is_not_finite_is_named_and_a_skipped_one_is_not():
    name = "losses and gradients are finite"
    run = run_of({"loss": 1.0, "grad_norm": 2.0}, {"loss": float("nan")})
    assert "first step 1" in item_of(run, name).says
    overflow = {"loss": 1.0, "grad_norm": float("inf"), "skipped": True}
    assert item_of(run_of(overflow), name).status == "passed"


def test_an_empty_run_claims_nothing_but_what_is_known():
    items = run_checklist(Run(), Report())
    named = [item for item in items if not item.name.startswith("rules of")]
    assert {item.status for item in named} == {"not checked"}
