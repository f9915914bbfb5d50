"""The precision in use, and float32."""

import pytest
import torch

from tests.experiments.set_ups import after, around, llama, lora, named, padded, tried


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


def overflowing(hidden):
    return (hidden * 3e8 + 1e5).sum(-1, keepdim=True).clamp(-1e9, 1e9) * 1e-8 + hidden


def coarse(hidden):
    if hidden.dtype == torch.bfloat16:
        return (hidden * 16).round() / 16
    return hidden


def eight_bits(hidden):
    return hidden.to(torch.float8_e4m3fn).to(hidden.dtype)


def int8(hidden):
    scale = hidden.abs().amax() / 7
    return (hidden / scale).round().to(torch.int8) * scale


def counting(hidden):
    """Count positions in the dtype at hand: bf16 has no 257."""
    places = torch.arange(hidden.shape[1], dtype=hidden.dtype) + 1024
    return hidden * torch.cos(places)[:, None]


@pytest.mark.parametrize(
    ("dtype", "change"),
    [
        (torch.float16, overflowing),
        (torch.bfloat16, coarse),
        (torch.bfloat16, eight_bits),
        (torch.float32, eight_bits),
        (torch.float32, lambda h: h.bfloat16().to(h.dtype)),
        (torch.bfloat16, int8),
        (torch.bfloat16, counting),
    ],
    ids=["overflow", "coarse", "float8", "float8 in float32", "cast", "int", "count"],
)
def test_a_module_that_loses_more_than_rounding_is_named(dtype, change):
    model = around(llama().to(dtype), "model.layers.1.mlp", after(change))
    assert named(tried("precision", model, padded())) == ["model.layers.1.mlp"]
