"""The weights after a step, and by the optimizer's formula."""

import pytest
import torch
from torch.optim import SGD, Adagrad, Adam, AdamW

import ftlab
from tests.experiments.set_ups import llama, lora, named, padded, trainable, tried
from tests.session.scenarios import trainer


def stepped(optimizer, model, steps=2):
    """Make some steps, so that there are moments."""
    for _ in range(steps):
        optimizer.zero_grad()
        model(**padded()).loss.backward()
        optimizer.step()
    return optimizer


def outcome_of(model, optimizer):
    return tried("update-rule", model, padded(), optimizer=optimizer)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: AdamW(p, lr=1e-3, weight_decay=0.1, amsgrad=True),
        lambda p: Adam(p, lr=torch.tensor(1e-2), weight_decay=0.1, maximize=True),
        lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda p: SGD([{"params": p[:3], "lr": 1.0}, {"params": p[3:]}], lr=0.1),
    ],
    ids=["adamw", "adam", "momentum", "groups"],
)
@pytest.mark.parametrize("steps", [0, 2])
def test_a_step_is_as_prescribed(make, steps):
    model = lora(init_lora_weights=False)
    outcome = outcome_of(model, stepped(make(trainable(model)), model, steps))
    assert outcome.state == "holds", outcome.says
    assert outcome.says == "8 tensors as prescribed, nothing else moved"


def test_weights_in_bf16_hold_where_the_rate_is_large():
    model = llama().bfloat16()
    outcome = outcome_of(model, SGD(trainable(model)[:1], lr=1e6))
    assert outcome.state == "holds", outcome.says


def test_a_trainers_optimizer_is_made_and_tried():
    (outcome,) = ftlab.prove(trainer(), only="update-rule")
    assert outcome.state == "holds", outcome.says


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _: None, "there is no optimizer; pass optimizer="),
        (Adagrad, "Adagrad is none of Adam, AdamW, SGD"),
    ],
)
def test_it_does_not_apply_to_other_optimizers(make, says):
    model = lora()
    outcome = outcome_of(model, make(trainable(model)))
    assert (outcome.state, outcome.says) == ("does not apply", says)


def test_updates_that_bf16_rounds_away_are_missed():
    model = llama().bfloat16()
    outcome = outcome_of(model, AdamW(trainable(model), lr=1e-6, weight_decay=0))
    assert "model.norm.weight" in named(outcome)
    assert "misses its update by 100% of it" in outcome.says


def edited(optimizer, model):
    """Clamp a weight after each step."""
    weight = model.model.layers[0].mlp.up_proj.weight

    def clamp(*_):
        with torch.no_grad():
            weight.clamp_(-0.01, 0.01)

    optimizer.register_step_post_hook(clamp)
    return ["model.layers.0.mlp.up_proj.weight"]


def spoilt(optimizer, model):
    """Leave NaN behind."""
    weight = model.lm_head.weight
    optimizer.register_step_post_hook(lambda *_: weight.data.fill_(torch.nan))
    return ["lm_head.weight"]


@pytest.mark.parametrize("plant", [edited, spoilt])
def test_a_weight_that_a_hook_writes_to_is_named(plant):
    model = llama()
    optimizer = AdamW(trainable(model), lr=1e-3)
    places = plant(optimizer, model)
    assert named(outcome_of(model, optimizer)) == places


def test_a_frozen_weight_that_moves_is_named():
    model = lora()
    optimizer = AdamW(trainable(model), lr=1e-3)
    base = model.get_base_model().model.norm.weight
    optimizer.register_step_post_hook(lambda *_: base.data.mul_(0.99))
    outcome = outcome_of(model, optimizer)
    assert named(outcome) == ["model.norm.weight"]
    assert outcome.says.startswith("1 weights that no optimizer has moved")


def test_a_decay_that_the_step_does_not_take_is_named(monkeypatch):
    model = llama()
    head, *rest = [model.lm_head.weight, *model.model.parameters()]
    groups = [{"params": [head], "weight_decay": 5.0}, {"params": rest}]
    optimizer = AdamW(groups, lr=1e-2, weight_decay=0.0)

    def without_decay(step):
        def stepped(*args, **kwargs):
            optimizer.param_groups[0]["weight_decay"] = 0.0
            try:
                return step(*args, **kwargs)
            finally:
                optimizer.param_groups[0]["weight_decay"] = 5.0

        return stepped

    monkeypatch.setattr(optimizer, "step", without_decay(optimizer.step))
    assert named(outcome_of(model, optimizer)) == ["lm_head.weight"]


def test_a_step_that_clips_on_its_own_is_found(monkeypatch):
    model = llama()
    optimizer = SGD(model.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(
        lambda *_: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01) and None
    )
    assert len(named(outcome_of(model, optimizer))) == len([*model.parameters()])
