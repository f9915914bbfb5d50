"""Two steps, and the same after saving and loading."""

import copy
from pathlib import Path

import pytest
import torch
from torch.optim import SGD, AdamW
from transformers import Trainer

import ftlab
from tests.experiments.set_ups import (
    around,
    gpt2,
    llama,
    lora,
    named,
    padded,
    trainable,
    tried,
)
from tests.session.scenarios import TRAINERS, trainer

MLP = "model.layers.1.mlp"


def outcome_of(model, make=AdamW):
    optimizer = make(trainable(model), lr=1e-2)
    outcome = tried("resumed", model, padded(), optimizer=optimizer)
    assert not optimizer.state
    return outcome


def asked(each):
    before = {name: p.clone() for name, p in each.model.named_parameters()}
    dice = torch.get_rng_state()
    (outcome,) = ftlab.prove(each, only="resumed")
    assert all(torch.equal(p, before[n]) for n, p in each.model.named_parameters())
    assert torch.equal(torch.get_rng_state(), dice)
    assert not list(Path(each.args.output_dir).iterdir())
    return outcome


class Averaging(torch.nn.Module):
    """Scales by an average over the batches that it has seen."""

    def __init__(self, inner, persistent):
        super().__init__()
        self.inner = inner
        self.register_buffer("mean", torch.ones(()), persistent=persistent)

    def forward(self, h):
        made = self.inner(h)
        with torch.no_grad():
            self.mean.mul_(0.5).add_(50 * made.abs().mean())
        return made * self.mean.clone()


def averaging(persistent=True):
    model = llama()
    inner = model.get_submodule(MLP)
    model.set_submodule(MLP, Averaging(inner, persistent=persistent))
    return model


@pytest.mark.parametrize(
    ("model", "make"),
    [
        (llama, AdamW),
        (lambda: gpt2().train(), lambda p, lr: SGD(p, lr=lr, momentum=0.9)),
        (lambda: lora(lora_dropout=0.5).train(), AdamW),
        (averaging, AdamW),
        (lambda: lora(modules_to_save=["lm_head"]).bfloat16(), AdamW),
    ],
    ids=["llama", "momentum", "dropout", "buffer", "bf16"],
)
def test_a_loop_goes_on_after_loading(model, make):
    outcome = outcome_of(model(), make)
    assert outcome.state == "holds", outcome.says
    assert outcome.evidence["relative"] == 0


@pytest.mark.parametrize(
    "settings",
    [*TRAINERS.values(), {"optim": "adafactor"}, {"lr_scheduler_type": "constant"}],
)
def test_a_trainer_goes_on_after_loading(settings):
    outcome = asked(trainer(**settings))
    assert outcome.state == "holds", outcome.says
    assert outcome.says == "12 weights go on as if nothing had been"


def test_it_leaves_the_optimizer_to_those_before_and_after_it():
    each = trainer(warmup_steps=5)
    names = ["update-rule", "resumed", "update-rule", "resumed"]
    proof = ftlab.prove(each, only=names)
    assert [outcome.state for outcome in proof] == ["holds"] * 4
    assert proof[0].says == proof[2].says
    assert (each.optimizer, each.lr_scheduler) == (None, None)


@pytest.mark.parametrize("kind", ["linear", "reduce_lr_on_plateau"])
def test_a_trainer_of_all_weights_that_has_trained_goes_on(kind):
    settings = {"lr_scheduler_type": kind, "eval_strategy": "steps", "eval_steps": 1}
    each = trainer(llama(), max_steps=2, **settings)
    each.train()
    before = copy.deepcopy(
        (each.lr_scheduler.state_dict(), each.optimizer.state_dict()["param_groups"])
    )
    (outcome,) = ftlab.prove(each, only="resumed")
    assert outcome.state == "holds", outcome.says
    groups = each.optimizer.state_dict()["param_groups"]
    assert (each.lr_scheduler.state_dict(), groups) == before


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: trainer(save_only_model=True), "save_only_model=True: nothing of"),
        (lambda: None, "there is no optimizer; pass optimizer="),
    ],
)
def test_it_does_not_apply_where_nothing_is_resumed(make, says):
    each = make()
    if each is None:
        outcome = tried("resumed", llama(), padded())
    else:
        (outcome,) = ftlab.prove(each, only="resumed")
    assert outcome.state == "does not apply"
    assert outcome.says.startswith(says)


class Forgets(AdamW):
    """Leaves its moments out of its state."""

    def state_dict(self):
        return super().state_dict() | {"state": {}}


class ById(SGD):
    """Keeps momentum by the identity of the weights, and not in its state."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, lr=lr)
        self.moments = {}

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                kept = self.moments.get(id(p), torch.zeros_like(p))
                self.moments[id(p)] = 0.9 * kept + p.grad
                p.sub_(group["lr"] * self.moments[id(p)])


@pytest.mark.parametrize("make", [Forgets, ById])
def test_moments_that_are_not_in_the_state_are_missed(make):
    outcome = outcome_of(llama(), make)
    assert "lm_head.weight" in named(outcome)
    assert outcome.says.startswith("the steps after loading change ")


def test_a_buffer_that_is_not_persistent_is_named():
    outcome = outcome_of(averaging(persistent=False))
    assert f"{MLP}.inner.down_proj.weight" in named(outcome)
    assert outcome.says.endswith(f"; the buffer {MLP}.mean is not what it was")


def test_a_counter_that_begins_anew_is_missed():
    def fading(inner, h):
        inner.calls = getattr(inner, "calls", 0) + 1
        return inner(h) / inner.calls

    outcome = outcome_of(around(llama(), MLP, fading))
    assert f"{MLP}.inner.down_proj.weight" in named(outcome)


def head_beside_the_adapter():
    model = lora()
    model.get_base_model().lm_head.requires_grad_(True)
    return trainer(model)


def adapter_of_another_name():
    each = trainer()
    save = each.save_model

    def halved(folder, **more):
        from safetensors.torch import load_file, save_file

        save(folder, **more)
        path = f"{folder}/adapter_model.safetensors"
        held = load_file(path)
        save_file({k: v for k, v in held.items() if "layers.1" not in k}, path)

    each.save_model = halved
    return each


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (head_beside_the_adapter, "lm_head.weight"),
        (
            adapter_of_another_name,
            "model.layers.1.self_attn.q_proj.lora_B.default.weight",
        ),
    ],
)
def test_weights_that_are_not_in_the_file_are_named(make, place):
    outcome = asked(make())
    assert place in named(outcome)
    assert "weights are not loaded as they were, such as " in outcome.says


def nothing(_self, _given):
    """Neither save nor load."""


@pytest.mark.parametrize(
    "name",
    [
        "_save_optimizer_and_scheduler",
        "_load_optimizer_and_scheduler",
        "_load_rng_state",
    ],
)
def test_a_trainer_that_leaves_something_out_is_told(name):
    each = trainer()
    each.__class__ = type("Without", (Trainer,), {name: nothing})
    outcome = asked(each)
    assert named(outcome)
    assert outcome.says.startswith("the steps after loading change ")


def test_a_schedule_that_begins_anew_is_told():
    each = trainer(warmup_steps=5)
    each.create_optimizer()
    each.create_scheduler(10, each.optimizer)
    kind = type(each.lr_scheduler)
    each.lr_scheduler.__class__ = type("Anew", (kind,), {"load_state_dict": nothing})
    assert named(asked(each))
    each.lr_scheduler.__class__ = kind
    assert asked(each).state == "holds"
