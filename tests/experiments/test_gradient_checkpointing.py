"""Gradients with gradient checkpointing and without."""

import pytest
import torch

from tests.experiments.set_ups import after, around, llama, lora, named, padded, tried
from tests.experiments.test_deterministic import Counter, OwnDice


def reentrant(model):
    model.gradient_checkpointing_enable({"use_reentrant": True})
    return model.train()


def grads_of_inputs():
    model = lora(lora_dropout=0.2)
    model.enable_input_require_grads()
    return reentrant(model)


@pytest.mark.parametrize(
    "model",
    [
        llama,
        lambda: llama().bfloat16(),
        lambda: lora(llama(attention_dropout=0.2), lora_dropout=0.2).train(),
        lambda: around(
            llama(), "model.layers.0.mlp", after(lambda h: h + torch.rand_like(h))
        ),
        grads_of_inputs,
        lambda: reentrant(llama()),
    ],
    ids=["llama", "bf16", "dropout", "noise", "reentrant lora", "reentrant"],
)
def test_recomputation_gives_the_same_gradients(model):
    outcome = tried("recomputation", model(), padded())
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_to_a_model_that_cannot_checkpoint():
    outcome = tried("recomputation", torch.nn.Linear(2, 1), {"input": torch.ones(3, 2)})
    assert outcome.state == "does not apply"
    assert outcome.says == "Linear has no gradient_checkpointing_enable()"


@pytest.mark.parametrize("kind", [Counter, OwnDice])
def test_what_a_module_keeps_between_calls_is_named(kind):
    model = around(llama(), "model.layers.1.mlp", after(kind()))
    outcome = tried("recomputation", model, padded())
    assert named(outcome)[0].startswith("model.layers.1")


def test_random_numbers_drawn_anew_are_found():
    model = around(llama(), "model.layers.0.mlp", after(lambda h: h * torch.rand(())))
    model.gradient_checkpointing_enable(
        {"use_reentrant": False, "preserve_rng_state": False}
    )
    outcome = tried("recomputation", model.train(), padded())
    assert named(outcome)[0].startswith("model.layers.0")


def test_a_layer_that_asks_whether_gradients_are_wanted_is_found():
    def asks(hidden):
        return hidden if torch.is_grad_enabled() else hidden * 0.5

    model = around(llama(), "model.layers.1.mlp", after(asks))
    outcome = tried("recomputation", reentrant(model), padded())
    assert "model.layers.1.mlp" in named(outcome)


def test_gradients_that_a_frozen_embedding_cuts_off_are_missed():
    outcome = tried("recomputation", reentrant(lora()), padded())
    assert "no gradient" in outcome.says
    assert named(outcome)[0].startswith("model.layers.")


def test_a_module_within_no_grad_while_recomputing_is_found():
    def cut(hidden):
        again = torch._C._current_graph_task_id() != -1
        return hidden.detach() if again else hidden

    model = around(llama(), "model.layers.0.mlp", after(cut))
    outcome = tried("recomputation", model, padded())
    assert outcome.state == "broken"
