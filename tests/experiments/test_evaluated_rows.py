"""One batch, evaluated, and in training's own loss."""

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
from tests.session.scenarios import sft_trainer, trainer

MLP = "model.layers.1.mlp"


def asked(each):
    (outcome,) = ftlab.prove(each, only="evaluated-rows")
    return outcome


def of(kind, model=None, **settings):
    each = trainer(model, **settings)
    each.__class__ = kind
    return each


class Own(Trainer):
    """Has a loss of its own, in one place."""

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        output = model(**inputs)
        loss = output.loss + 0.1 * output.logits.square().mean()
        return (loss, output) if return_outputs else loss


@pytest.mark.parametrize(
    "make",
    [
        trainer,
        lambda: trainer(llama(attention_dropout=0.5), bf16=True),
        lambda: trainer(gpt2().train(), gradient_accumulation_steps=3),
        lambda: trainer(label_smoothing_factor=0.1),
        lambda: of(Own, lora(lora_dropout=0.5)),
        sft_trainer,
    ],
    ids=["lora", "bf16", "accumulating", "smoothed", "own", "sft"],
)
def test_evaluation_gives_the_loss_of_training(make):
    each = make()
    modes = [module.training for module in each.model.modules()]
    outcome = asked(each)
    assert outcome.state == "holds", outcome.says
    assert [module.training for module in each.model.modules()] == modes


def test_it_does_not_apply_to_loops_or_without_a_loss():
    outcome = tried("evaluated-rows", llama(), padded())
    assert outcome.says == "how the loop evaluates is not known; pass a trainer"

    class Silent(Trainer):
        def prediction_step(self, *args, **kwargs):
            return None, None, None

    assert asked(of(Silent)).says == "the trainer's evaluation gives no loss"


class WithoutSmoothing(Trainer):
    """Smooths labels in training alone."""

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        smoother, self.label_smoother = self.label_smoother, None
        try:
            return super().prediction_step(model, inputs, prediction_loss_only)
        finally:
            self.label_smoother = smoother


class WithoutPenalty(Trainer):
    """Adds a term where there are gradients."""

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        output = model(**inputs)
        loss = output.loss
        if not return_outputs:
            loss = loss + 0.1 * output.logits.square().mean()
        return (loss, output) if return_outputs else loss


class OtherDivisor(Trainer):
    """Takes the mean over all tokens in evaluation."""

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        logits, labels = model(**inputs).logits, inputs["labels"]
        shifted = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        return cross_entropy(*shifted, reduction="sum") / labels.numel(), None, None


class OtherLabels(Trainer):
    """Shifts labels once more in evaluation."""

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        inputs = inputs | {"labels": inputs["labels"].roll(1, 1)}
        return super().prediction_step(model, inputs, prediction_loss_only)


def asks_for_gradients():
    """A layer that does something else without gradients."""

    def change(h):
        return h if torch.is_grad_enabled() else h * 0.5

    class Enabled(Trainer):
        def compute_loss(self, *args, **kwargs):
            with torch.enable_grad():
                return super().compute_loss(*args, **kwargs)

        def prediction_step(self, model, inputs, *_args, **_kwargs):
            with torch.no_grad():
                return model(**inputs).loss, None, None

    return of(Enabled, around(llama(), MLP, after(change)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: of(WithoutSmoothing, label_smoothing_factor=0.3),
        lambda: of(WithoutPenalty),
        lambda: of(OtherDivisor),
        lambda: of(OtherLabels),
        asks_for_gradients,
    ],
    ids=["smoothing", "penalty", "divisor", "labels", "gradients"],
)
def test_an_evaluation_of_another_loss_is_told(make):
    each = make()
    before = {name: p.clone() for name, p in each.model.named_parameters()}
    outcome = asked(each)
    assert named(outcome) == ["prediction_step"]
    assert outcome.evidence["training"] != outcome.evidence["evaluation"]
    assert all(torch.equal(p, before[n]) for n, p in each.model.named_parameters())
