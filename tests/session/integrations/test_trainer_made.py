"""What a Trainer makes of its arguments is read as it is."""

import pytest
import torch
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback
from transformers.trainer_callback import DefaultFlowCallback

import ftlab
from ftlab.faults.builders.tiny import base, batches, lora, rows_of
from ftlab.faults.builders.trainers import trained
from ftlab.faults.registry import list_faults, load
from ftlab.rules.engine import Engine
from ftlab.session.integrations.trainer_made import (
    has_evaluated,
    loader_facts,
    made_facts,
    trainable_dtypes,
)

SMOOTHED = {"label_smoothing_factor": 0.1}


def made(model=None, **settings):
    return made_facts(trained(model or lora(), **settings).trainer)


class CallsTheOther(Trainer):
    def compute_loss(self, *args, **kwargs):
        return super().compute_loss(*args, **kwargs)


class HasItsOwn(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **_):
        loss = model(**inputs).loss
        return (loss, {}) if return_outputs else loss


class SmoothsElsewhere(HasItsOwn):
    def training_step(self, *args, **kwargs):
        return self.label_smoother and super().training_step(*args, **kwargs)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Trainer, "applied"),
        (HasItsOwn, "own-loss"),
        (CallsTheOther, ""),
        (SmoothsElsewhere, ""),
    ],
)
def test_what_becomes_of_smoothing_is_read_of_the_code(kind, expected):
    assert made(kind=kind, **SMOOTHED)["smoothing"] == expected
    assert made(kind=kind)["smoothing"] == ""


def test_a_loss_function_takes_the_smoothing_away():
    def loss(outputs, labels, **_):
        return outputs.logits.mean()

    assert made(trainer={"compute_loss_func": loss}, **SMOOTHED)["smoothing"] == (
        "own-loss"
    )


def renamed(forward=None):
    model = base()
    own = {} if forward is None else {"forward": forward}
    model.__class__ = type("OwnForCausalLM", (type(model),), own)
    return model


def test_a_class_that_the_trainer_does_not_know_is_not_shifted():
    assert made(renamed(), **SMOOTHED)["smoothing"] == "unshifted"
    assert made(lora(renamed()), **SMOOTHED)["smoothing"] == "unshifted"


def test_a_forward_with_a_loss_of_its_own_is_not_judged():
    def forward(self, input_ids, labels=None):
        return {"loss": super(type(self), self).forward(input_ids).logits.mean()}

    assert made(renamed(forward), **SMOOTHED)["smoothing"] == ""


def test_an_encoder_and_decoder_is_not_judged():
    model = renamed()
    model.config.is_encoder_decoder = True
    assert made(model, **SMOOTHED)["smoothing"] == ""


def test_the_last_step_evaluates_as_the_installed_trainer_does():
    further = {"eval_dataset": rows_of(batches(1))}
    trainer = trained(
        lora(), max_steps=3, eval_strategy="steps", eval_steps=2, trainer=further
    ).trainer
    trainer.train()
    at_end = any(
        entry["step"] == 3 and "eval_loss" in entry
        for entry in trainer.state.log_history
    )
    assert made_facts(trainer)["evaluates_at_end"] is at_end


class Evaluates(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        control.should_evaluate = state.global_step == 1


class Looks(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        self.seen = state.global_step


@pytest.mark.parametrize(
    ("callback", "expected"),
    [(Evaluates(), True), (Looks(), False), (DefaultFlowCallback(), False)],
)
def test_a_callback_that_evaluates_is_known(callback, expected):
    assert made(trainer={"callbacks": [callback]})["own_evaluation"] is expected


def test_patience_rows_and_batch_are_read():
    facts = made(trainer={"callbacks": [EarlyStoppingCallback(4)]})
    assert facts["patience"] == [4]
    assert (facts["rows"], facts["batch_size"]) == (64, 4)
    assert facts["dtypes"] == ["float32"]


def test_a_loader_tells_its_batches_and_their_size():
    data = torch.arange(10)
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    assert loader_facts(loader) == {"batches": 3, "batch_size": 4}
    assert loader_facts(iter([])) == {}


def test_an_evaluation_before_the_training_is_seen_and_what_it_casts():
    further = {"eval_dataset": rows_of(batches(1))}
    case = trained(base(), max_steps=2, bf16_full_eval=True, trainer=further)
    trainer = case.trainer
    assert not has_evaluated(trainer)
    with ftlab.watch(trainer) as watch:
        trainer.evaluate()
        assert has_evaluated(trainer)
        trainer.train()
    assert trainable_dtypes(trainer.model) == ["bfloat16"]
    assert "ENV006" in [each.code for each in Engine().check(watch.run).findings]


PREFLIGHT = [
    "best-without-evaluation",
    "completion-only-beside-a-collator",
    "constant-with-a-warmup",
    "evaluated-then-trained",
    "fewer-rows-than-a-batch",
    "rate-beside-own-optimizer",
    "smoothed-without-shift",
    "smoothing-beside-own-loss",
]


@pytest.mark.parametrize("name", PREFLIGHT)
def test_preflight_tells_it_before_the_first_step(name):
    if name not in [fault.id for fault in list_faults()]:
        pytest.skip("it needs a package that is not installed")
    fault = load(name)
    sick = ftlab.preflight(fault.build(fixed=False).trainer)
    well = ftlab.preflight(fault.build(fixed=True).trainer)
    assert fault.code in [each.code for each in sick if each.status == "failed"]
    assert fault.code not in [each.code for each in well]
