"""What is said of a trainer is what that one does, by its arguments."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers import TrainingArguments

import ftlab
from ftlab.faults.builders.tiny import llama, lora
from tests.laboratory.modules.test_as_trainer import (
    ROWS,
    a_trainer,
    becomes_parallel,
    moments,
    raised,
    states,
)
from tests.laboratory.modules.wrapped import Delegating, Named, Starred

NONE_SAVED = {"save_strategy": "no"}
EACH_STEP = {"eval_strategy": "steps", "eval_steps": 1}


def said_of(trainer, what):
    return next(e for e in ftlab.model(trainer).anatomy.seen if e.what == what)


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("names", [None, ["labels"]])
def test_columns_are_told_by_what_is_removed(remove, names, tmp_path):
    settings = {"remove_unused_columns": remove, "label_names": names, **NONE_SAVED}
    trainer = a_trainer(Starred(llama()), tmp_path, **settings)
    fails = states(ftlab.model(trainer))["columns"] == "fails"
    assert fails == remove
    assert bool(raised(trainer.train)) == fails


@pytest.mark.parametrize("around", [Starred, Named, Delegating])
@pytest.mark.parametrize("names", [None, ["labels"], []])
def test_evaluation_is_told_by_the_names_of_labels(around, names, tmp_path):
    settings = {"label_names": names, **NONE_SAVED, **EACH_STEP}
    trainer = a_trainer(around(llama()), tmp_path, **settings)
    measured = states(ftlab.model(trainer))["evaluation"] == "works"
    assert ("eval_loss" in trainer.evaluate()) == measured


@pytest.mark.parametrize("best", [None, "loss", "accuracy"])
@pytest.mark.parametrize("evaluated", [False, True])
def test_a_missing_loss_fails_where_the_best_is_chosen_by_it(best, evaluated, tmp_path):
    settings = EACH_STEP if evaluated else {}
    settings = settings | NONE_SAVED | {"metric_for_best_model": best}
    trainer = a_trainer(Starred(llama()), tmp_path, **settings)
    shown = said_of(trainer, "evaluation").state
    assert shown == (("fails" if best else "costs") if evaluated else "noted")
    assert (raised(trainer.train) == "KeyError") == (shown == "fails")


@pytest.mark.parametrize("saved", ["no", "steps"])
def test_checkpoints_fail_where_any_is_written(saved, tmp_path):
    model = Named(llama(tie_word_embeddings=True))
    trainer = a_trainer(model, tmp_path, save_strategy=saved)
    view = ftlab.model(trainer)
    expected = "noted" if saved == "no" else "fails"
    assert said_of(trainer, "checkpoints").state == expected
    assert ("each checkpoint" in view.anatomy.sizes) == (saved == "steps")
    assert raised(trainer.train) == ("" if saved == "no" else "RuntimeError")
    assert bool(raised(trainer.save_model))  # as the note says


ASKED = {
    "config": {"label_smoothing_factor": 0.1},
    "get_input_embeddings": {"neftune_noise_alpha": 5.0},
    "gradient_checkpointing_enable": {"gradient_checkpointing": True},
}
AROUND = {
    "named": Named,
    "delegating": Delegating,
    "none": lambda model: model,
    "DataParallel": nn.DataParallel,
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("around", AROUND)
def test_what_is_asked_for_fails_where_it_is_not(name, around, tmp_path):
    model = AROUND[around](lora())
    args = TrainingArguments(
        str(tmp_path), use_cpu=True, report_to=[], save_strategy="no", **ASKED[name]
    )
    # with label smoothing no trainer comes of it: its arguments do
    view = ftlab.model(SimpleNamespace(model=model, args=args))
    fails = states(view).get(name) == "fails"

    def run():
        a_trainer(model, tmp_path, **NONE_SAVED, **ASKED[name]).train()

    assert fails == (raised(run, AttributeError) == "AttributeError")
    assert fails or around != "named"
    plain = a_trainer(model, tmp_path, **NONE_SAVED)
    assert name not in states(ftlab.model(plain))


OPTIMIZERS = {
    "adamw_torch": "",
    "adamw_torch_fused": "",
    "sgd": "",
    "sgd with momentum": "momentum=0.9",
    "adagrad": "",
    "rmsprop": "",
    "rmsprop with momentum": "momentum=0.9",
}


def kept_by(trainer):
    kept = [t for one in trainer.optimizer.state.values() for t in one.values()]
    return sum(t.nbytes for t in kept if torch.is_tensor(t) and t.dim())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_optimizers_state_is_predicted(name, tmp_path):
    settings = {"optim": name.partition(" ")[0], "optim_args": OPTIMIZERS[name] or None}
    trainer = a_trainer(llama(), tmp_path, **NONE_SAVED, **settings)
    view = ftlab.model(trainer)
    known = {"weights", "gradients"}
    ((words, predicted),) = [e for e in view.anatomy.sizes.items() if e[0] not in known]
    assert ("AdamW" in words) == name.startswith("adamw")
    trainer.train()
    assert kept_by(trainer) == predicted
    after = ftlab.model(trainer).anatomy.sizes  # the optimizer is there by now
    assert after == view.anatomy.sizes


def test_a_state_that_is_not_known_is_not_predicted(tmp_path):
    trainer = a_trainer(llama(), tmp_path, **NONE_SAVED, optim="adafactor")
    assert set(ftlab.model(trainer).anatomy.sizes) == {"weights", "gradients"}
    assert "the state of adafactor not predicted" in said_of(trainer, "training").means
    trainer.train()
    assert kept_by(trainer) < 0.1 * moments_of_adamw(trainer.model)


def moments_of_adamw(model):
    return ftlab.model(model).anatomy.sizes["AdamW's two moments"]


def test_an_optimizer_that_was_handed_over_is_read(tmp_path):
    trainer = a_trainer(llama(), tmp_path, **NONE_SAVED)
    head = trainer.model.lm_head.weight
    trainer.optimizer = torch.optim.AdamW([head])
    assert ftlab.model(trainer).anatomy.sizes["AdamW's two moments"] == 2 * head.nbytes
    trainer.train()
    assert moments(trainer) == 2 * head.nbytes


@pytest.mark.parametrize("steps", [1, 2])
def test_accumulation_costs_where_batches_are_averaged(steps, tmp_path):
    settings = {**NONE_SAVED, "gradient_accumulation_steps": steps}
    trainer = a_trainer(Named(llama()), tmp_path, **settings)
    costs = states(ftlab.model(trainer))["accumulation"] == "costs"
    assert costs == (steps > 1)
    # one answer of 7 tokens, one of 1
    short = ROWS[1] | {"labels": [-100] * 7 + [4]}
    rows = [ROWS[0], short] if steps > 1 else [ROWS[0]] * 2
    trainer.train_dataset = rows
    trainer.args.per_device_train_batch_size = trainer._train_batch_size = 2 // steps
    losses = []
    inner = trainer.training_step

    def step(*args, **kwargs):
        losses.append(inner(*args, **kwargs))
        return losses[-1]

    trainer.training_step = step
    batch = {k: torch.tensor([row[k] for row in rows]) for k in rows[0]}
    with torch.no_grad():
        whole = trainer.model(**batch).loss
    trainer.train()
    assert torch.isclose(sum(losses), whole, rtol=1e-5) == (not costs)


def test_several_gpus_are_those_of_the_arguments(tmp_path):
    trainer = a_trainer(llama(), tmp_path)
    assert "several GPUs" not in states(ftlab.model(trainer))
    assert becomes_parallel(trainer, trainer.model)
    trainer.args._n_gpu = 2
    assert states(ftlab.model(trainer))["several GPUs"] == "costs"
    trainer.args._n_gpu = 0


def test_a_model_that_is_not_moved_is_not_said_to_be(tmp_path, monkeypatch):
    model = Named(lora())
    model.backbone.hf_device_map = {"": "cpu"}
    assert said_of(a_trainer(model, tmp_path), "devices").state == "costs"
    monkeypatch.setattr(TrainingArguments, "place_model_on_device", False)
    still = a_trainer(model, tmp_path)
    assert not still.place_model_on_device
    assert said_of(still, "devices").state == "noted"


def test_a_healthy_trainer_is_left_in_peace(tmp_path):
    for model in (llama(), lora()):
        trainer = a_trainer(model, tmp_path, **EACH_STEP, gradient_checkpointing=True)
        found = set(states(ftlab.model(trainer)).values())
        assert not {"fails", "costs", "not checked"} & found


def test_arguments_of_another_kind_are_not_asked():
    other = SimpleNamespace(model=lora(), args=SimpleNamespace(save_strategy="no"))
    assert states(ftlab.model(other)) == states(ftlab.model(other.model))
