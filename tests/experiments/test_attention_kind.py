"""The attention in use, and the plain one."""

import pytest
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ftlab.faults.builders.tiny import own
from tests.experiments.set_ups import gpt2, llama, lora, named, packed, padded, tried


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (llama, padded()),
        (lambda: llama(attn_implementation="eager"), padded()),
        (lambda: llama().bfloat16(), padded(left=False)),
        (gpt2, packed()),
        (lora, padded(lengths=(12, 12))),
    ],
    ids=["left", "eager", "bf16", "packed", "full"],
)
def test_both_kinds_give_the_same(model, batch):
    outcome = tried("attention-kind", model(), batch)
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_where_nothing_names_an_implementation():
    outcome = tried("attention-kind", own(), padded())
    assert outcome.state == "does not apply"
    assert outcome.says == "the config of OwnModel names no attention implementation"


def scaled(module, query, key, value, mask, **more):
    return sdpa_attention_forward(
        module, query, key, value, mask, **more | {"scaling": 1.0}
    )


def maskless(module, query, key, value, mask, **more):
    return sdpa_attention_forward(module, query, key, value, None, **more)


def windowed(module, query, key, value, mask, **more):
    places = torch.arange(query.shape[2])
    near = (places[:, None] - places < 4)[None, None]
    causal = places[:, None] >= places
    mask = (near & causal) if mask is None else mask & near
    return sdpa_attention_forward(module, query, key, value, mask, **more)


def tiled(module, query, key, value, mask, **more):
    """Repeat the key and value heads one after the other, not each by itself."""
    times = query.shape[1] // key.shape[1]
    made = torch.nn.functional.scaled_dot_product_attention(
        query,
        key.repeat(1, times, 1, 1),
        value.repeat(1, times, 1, 1),
        attn_mask=mask,
        is_causal=mask is None,
    )
    return made.transpose(1, 2).contiguous(), None


def capped(module, query, key, value, mask, **more):
    return sdpa_attention_forward(
        module, 5 * torch.tanh(query / 5), key, value, mask, **more
    )


@pytest.fixture
def registered():
    """Return a function that registers an implementation and builds a model on it."""
    interfaces = (AttentionInterface(), AttentionMaskInterface())

    def build(function):
        interfaces[0].register("planted", function)
        interfaces[1].register("planted", sdpa_mask)
        model = llama()
        model.config._attn_implementation = "planted"
        with torch.no_grad():
            for layer in model.model.layers:
                layer.self_attn.q_proj.weight.mul_(20)
        return model

    yield build
    for interface in interfaces:
        type(interface)._global_mapping.pop("planted", None)


@pytest.mark.parametrize("function", [scaled, maskless, windowed, tiled, capped])
def test_an_implementation_that_computes_otherwise_is_found(registered, function):
    outcome = tried("attention-kind", registered(function), padded())
    assert named(outcome)[0] == "model.layers.0.self_attn"
    assert outcome.says.startswith("eager attention and planted attention part at")


def test_an_implementation_that_is_right_holds(registered):
    outcome = tried("attention-kind", registered(sdpa_attention_forward), padded())
    assert outcome.state == "holds", outcome.says
