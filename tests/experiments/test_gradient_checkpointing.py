"""Gradients with gradient checkpointing and without."""

import pytest
import torch

from tests.experiments.set_ups import after, around, llama, lora, named, padded, tried


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


class Fading(torch.nn.Module):
    """A layer that counts its calls."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.calls = 0

    def forward(self, hidden):
        self.calls += 1
        return self.inner(hidden) * torch.full_like(hidden, 0.5**self.calls)


class Masking(Fading):
    """A layer with a dice of its own, which a checkpoint does not turn back."""

    def __init__(self, inner):
        super().__init__(inner)
        self.dice = torch.Generator().manual_seed(0)

    def forward(self, hidden):
        mask = torch.rand(hidden.shape, generator=self.dice) > 0.5
        return self.inner(hidden * mask) * hidden


class Averaging(Fading):
    """A layer with running statistics, which each call moves."""

    def __init__(self, inner):
        super().__init__(inner)
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, hidden):
        self.mean = 0.5 * self.mean + hidden.detach().abs().mean()
        return self.inner(hidden) * hidden / self.mean


@pytest.mark.parametrize("kind", [Fading, Masking, Averaging])
def test_what_a_module_keeps_between_calls_is_named(kind):
    model = llama()
    model.model.layers[1].mlp = kind(model.model.layers[1].mlp)
    outcome = tried("recomputation", model, padded())
    assert "model.layers.1.mlp" in named(outcome)


def test_random_numbers_drawn_anew_are_found():
    model = around(
        llama(), "model.layers.0.mlp", after(lambda h: h * h * torch.rand(()))
    )
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
    model = reentrant(lora(layers_to_transform=[0]))
    model.disable_input_require_grads()
    outcome = tried("recomputation", model, padded())
    assert named(outcome)[0].startswith("model.layers.0.self_attn")
