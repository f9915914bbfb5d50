"""Micro-batches with different numbers of labels, and one batch."""

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer

import ftlab
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


def accumulating(model=None, steps=2, kind=None, **settings):
    sizes = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": steps}
    each = trainer(model, **(sizes | settings))
    if kind is not None:
        each.__class__ = kind
    return each


def asked(each):
    (outcome,) = ftlab.prove(each, only="accumulated-gradients")
    return outcome


class Sums(Trainer):
    """Divides a sum by the labels of all micro-batches, as it should."""

    def compute_loss(self, model, inputs, num_items_in_batch=None, **_):
        logits, labels = model(**inputs).logits, inputs["labels"]
        shifted = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        total = cross_entropy(*shifted, reduction="sum")
        return total / (
            labels.numel() if num_items_in_batch is None else num_items_in_batch
        )


@pytest.mark.parametrize(
    "make",
    [
        accumulating,
        lambda: accumulating(steps=4),
        lambda: accumulating(gpt2(), steps=3),
        lambda: accumulating(llama(attention_dropout=0.5), bf16=True),
        lambda: accumulating(lora(lora_dropout=0.5), kind=Sums),
    ],
    ids=["lora", "four", "gpt2", "bf16", "own"],
)
def test_micro_batches_give_the_gradients_of_one(make):
    outcome = asked(make())
    assert outcome.state == "holds", outcome.says


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: accumulating(steps=1), "gradient_accumulation_steps=1: nothing is"),
        (lambda: accumulating(steps=5), "the batch has 4 rows for 5 parts of it"),
    ],
)
def test_it_does_not_apply_where_nothing_is_accumulated(make, says):
    outcome = asked(make())
    assert outcome.state == "does not apply"
    assert outcome.says.startswith(says)
    assert tried("accumulated-gradients", llama(), padded()).says == (
        "how the loop accumulates is not known; pass a trainer"
    )


class Means(Trainer):
    """Leaves the number of labels aside."""

    def compute_loss(self, model, inputs, num_items_in_batch=None, **more):
        return super().compute_loss(model, inputs, **more)


class Rows(Trainer):
    """Takes the mean over rows of their means."""

    def compute_loss(self, model, inputs, num_items_in_batch=None, **_):
        logits, labels = model(**inputs).logits, inputs["labels"]
        shifted = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        each = cross_entropy(*shifted, reduction="none").view(len(labels), -1)
        trained = (labels[:, 1:] != -100).sum(1)
        return (each.sum(1) / trained).sum() / len(labels)


class Divides(Trainer):
    """Divides by the steps once more."""

    def training_step(self, model, inputs, num_items_in_batch=None):
        steps = self.args.gradient_accumulation_steps
        loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
        (loss / max(1, self.current_gradient_accumulation_steps)).backward()
        return loss / steps


class Clears(Trainer):
    """Clears the gradients before each micro-batch."""

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.zero_grad()
        return super().training_step(model, inputs, num_items_in_batch)


def over_rows():
    """A layer takes statistics over the rows of its micro-batch."""
    return accumulating(around(llama(), MLP, after(lambda h: h - h.mean(0))))


def own_function():
    each = accumulating()

    def mean(outputs, labels, num_items_in_batch=None):
        logits = outputs.logits[:, :-1].flatten(0, 1)
        return cross_entropy(logits, labels[:, 1:].flatten())

    each.compute_loss_func = mean
    return each


@pytest.mark.parametrize(
    "make",
    [
        lambda: accumulating(kind=Means),
        lambda: accumulating(kind=Rows),
        lambda: accumulating(kind=Divides),
        lambda: accumulating(kind=Clears),
        over_rows,
        own_function,
    ],
    ids=["means", "rows", "divided", "cleared", "statistics", "function"],
)
def test_what_depends_on_the_division_is_told(make):
    each = make()
    before = {name: p.clone() for name, p in each.model.named_parameters()}
    outcome = asked(each)
    assert named(outcome)[0] in {
        name.removeprefix("base_model.model.") for name in before
    }
    assert outcome.evidence["relative"] > 0.01
    assert all(p.grad is None for p in each.model.parameters())
    assert all(torch.equal(p, before[n]) for n, p in each.model.named_parameters())
