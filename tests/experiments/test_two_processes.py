"""Gradients of two processes, and of one."""

import multiprocessing
import time

import pytest
import torch
from torch import distributed
from torch.nn.functional import cross_entropy
from transformers import Trainer

import ftlab
from ftlab.experiments import two_processes
from tests.experiments.set_ups import (
    after,
    around,
    gpt2,
    llama,
    lora,
    named,
    padded,
    tried,
)
from tests.session.scenarios import trainer

MLP = "model.layers.1.mlp"


@pytest.fixture(autouse=True)
def _nobody_is_left():
    yield
    assert not multiprocessing.active_children()


def by_all_tokens(model, batch):
    """Divide by the trained tokens of all processes."""
    logits = model(**{k: v for k, v in batch.items() if k != "labels"}).logits
    ahead = batch["labels"][:, 1:]
    count, processes = (ahead != -100).sum(), 1
    if distributed.is_initialized():
        distributed.all_reduce(count)
        processes = distributed.get_world_size()
    total = cross_entropy(
        logits[:, :-1].flatten(0, 1), ahead.flatten(), reduction="sum"
    )
    return processes * total / count


def asked(target, loss=by_all_tokens, batch=None):
    if isinstance(target, Trainer):
        (outcome,) = ftlab.prove(target, only="two-processes")
        return outcome
    return tried("two-processes", target, batch or padded(), loss=loss)


@pytest.mark.parametrize(
    "make",
    [
        trainer,
        lambda: trainer(llama(), bf16=True, gradient_accumulation_steps=2),
        lambda: lora(lora_dropout=0.5),
        lambda: gpt2().bfloat16(),
        lambda: checkpointed(llama()),
    ],
    ids=["trainer", "bf16", "lora", "gpt2", "checkpointed"],
)
def test_two_processes_give_the_gradients_of_one(make):
    target = make()
    model = getattr(target, "model", target)
    before = {name: p.clone() for name, p in model.named_parameters()}
    outcome = asked(target)
    assert outcome.state == "holds", outcome.says
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
    assert not distributed.is_initialized()


def checkpointed(model):
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.train()


def normed():
    norm = torch.nn.BatchNorm1d(64)
    model = around(llama(), MLP, after(lambda h: norm(h.flatten(0, 1)).view_as(h)))
    model.norm = norm
    return model


@pytest.mark.parametrize(
    ("make", "batch", "says"),
    [
        (normed, None, "BatchNorm1d takes statistics of its own rows"),
        (llama, padded(lengths=(9,)), "the batch has 1 rows for 2 parts of it"),
    ],
)
def test_it_does_not_apply_where_rows_count_together_by_choice(make, batch, says):
    outcome = asked(make(), batch=batch)
    assert (outcome.state, outcome.says) == ("does not apply", says)


def test_it_is_tried_only_where_it_is_named():
    linear = ftlab.prove(torch.nn.Linear(2, 1), batch={"input": torch.ones(3, 2)})
    assert "two-processes" not in [each.name for each in linear]


def of_its_own_tokens(model, batch):
    return model(**batch).loss


class Divides(Trainer):
    """Divides the loss by the number of processes, as DDP does once more."""

    def compute_loss(self, *args, **kwargs):
        return super().compute_loss(*args, **kwargs) / self.args.world_size


def divides():
    each = trainer()
    each.__class__ = Divides
    return each


@pytest.mark.parametrize(
    "target",
    [
        (llama, of_its_own_tokens),
        (lambda: trainer(average_tokens_across_devices=False), None),
        (divides, None),
    ],
    ids=["mean of each", "trainer's option", "divided twice"],
)
def test_processes_that_are_weighted_by_something_else_are_told(target):
    make, loss = target
    outcome = asked(make(), loss)
    assert named(outcome)
    assert "of its size" in outcome.says


def rank_matters():
    def change(h):
        rank = distributed.get_rank() if distributed.is_initialized() else 0
        return h * (1 + rank)

    return around(llama(), MLP, after(change))


def rows_matter():
    return around(llama(), MLP, after(lambda h: h - h.mean(0)))


def left_out():
    model = llama()
    model._ddp_params_and_buffers_to_ignore = [f"{MLP}.up_proj.weight"]
    return model


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (rank_matters, None),
        (rows_matter, None),
        (left_out, f"{MLP}.up_proj.weight"),
    ],
)
def test_what_depends_on_the_process_is_told(make, place):
    outcome = asked(make())
    assert named(outcome) == [place or named(outcome)[0]]
    assert outcome.evidence["relative"] > 0.01


def fails(model, batch):
    if distributed.is_initialized() and distributed.get_rank() == 1:
        raise ValueError("no such rank")
    return by_all_tokens(model, batch)


def hangs(model, batch):
    if distributed.is_initialized():
        time.sleep(600)
    return by_all_tokens(model, batch)


def test_processes_that_fail_or_hang_are_ended(monkeypatch):
    outcome = asked(llama(), fails)
    assert outcome.state == "cannot be decided"
    assert "ValueError: no such rank" in outcome.says
    monkeypatch.setattr(two_processes, "SECONDS", 3)
    begun = time.monotonic()
    outcome = asked(llama(), hangs)
    assert outcome.state == "cannot be decided"
    assert "it did not end within 3 s" in outcome.says
    assert time.monotonic() - begun < 30


def test_an_interrupt_ends_them(monkeypatch):
    def interrupted(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(two_processes.time, "sleep", interrupted)
    outcome = asked(llama())
    assert outcome.says == "interrupted before it was tried"
