"""The precision in use, and float32."""

import pytest
import torch

import ftlab
from tests.experiments.set_ups import after, around, llama, lora, named, padded, tried
from tests.session.scenarios import trainer


@pytest.mark.parametrize(
    "model",
    [
        llama,
        lambda: llama().bfloat16(),
        lambda: llama().half(),
        lambda: lora(llama().bfloat16(), init_lora_weights=False),
    ],
    ids=["float32", "bf16", "fp16", "lora"],
)
def test_the_precision_in_use_differs_by_rounding_alone(model):
    outcome = tried("precision", model(), padded())
    assert outcome.state == "holds", outcome.says


def test_what_autocast_rounds_is_no_loss():
    (outcome,) = ftlab.prove(trainer(bf16=True), only="precision")
    assert outcome.state == "holds", outcome.says


def overflowing(hidden):
    """Sum squares of large values, as a norm in float16 does."""
    large = hidden * (3e3 / hidden.abs().amax())
    return hidden / (large.square().sum(-1, keepdim=True) + 1).sqrt()


def coarse(hidden):
    if hidden.dtype == torch.bfloat16:
        return (hidden * 16).round() / 16
    return hidden


def counting(hidden):
    """Count positions in the dtype at hand: bf16 has no 257."""
    places = torch.arange(hidden.shape[1], dtype=hidden.dtype) + 1024
    return hidden * torch.cos(places)[:, None]


@pytest.mark.parametrize(
    ("dtype", "change"),
    [
        (torch.float16, overflowing),
        (torch.bfloat16, coarse),
        (torch.float32, lambda h: h.bfloat16().to(h.dtype)),
        (torch.bfloat16, counting),
    ],
    ids=["overflow", "coarse", "cast", "count"],
)
def test_a_module_that_loses_more_than_rounding_is_named(dtype, change):
    model = around(llama().to(dtype), "model.layers.1.mlp", after(change))
    assert named(tried("precision", model, padded())) == ["model.layers.1.mlp"]
