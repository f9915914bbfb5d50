"""Tokens decoded with a cache, and the argmax without."""

import pytest
import torch

from ftlab.faults.builders.tiny import own
from tests.experiments.set_ups import gpt2, llama, lora, named, padded, tried


def lively(make=llama, **settings):
    """Return a model whose attention and positions have a say in what follows."""
    model = make(**settings)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "norm" not in name:
                parameter.mul_(8)
    return model.eval()


@pytest.mark.parametrize(
    "model",
    [
        lively,
        lambda: lively().bfloat16(),
        lambda: lively(gpt2),
        lambda: lora(lively(), init_lora_weights=False),
    ],
    ids=["llama", "bf16", "gpt2", "lora"],
)
def test_decoding_with_a_cache_is_the_argmax_without(model):
    outcome = tried("cached-decoding", model(), padded())
    assert outcome.state == "holds", outcome.says


def one_token_each():
    batch = padded(lengths=(1, 1))
    return batch | {"labels": batch["input_ids"]}


@pytest.mark.parametrize(
    ("model", "batch", "says"),
    [
        (own, padded(), "OwnModel has no generate()"),
        (llama, one_token_each(), "no row has two tokens"),
    ],
)
def test_it_does_not_apply_where_nothing_can_be_decoded(model, batch, says):
    outcome = tried("cached-decoding", model(), batch)
    assert (outcome.state, outcome.says) == ("does not apply", says)


def positions_count_padding(model):
    def drop(_module, args, kwargs):
        return args, kwargs | {"position_ids": None}

    model.transformer.register_forward_pre_hook(drop, with_kwargs=True)


def mask_is_dropped(model):
    def drop(_module, args, kwargs):
        return args, kwargs | {"attention_mask": None}

    model.transformer.register_forward_pre_hook(drop, with_kwargs=True)


def cache_is_ignored(model):
    def drop(_module, args, kwargs):
        if "past_key_values" in kwargs:
            return args, kwargs | {"past_key_values": None}
        return (args[0], None, *args[2:]), kwargs

    attention = model.transformer.h[0].attn
    attention.register_forward_pre_hook(drop, with_kwargs=True)


def cache_is_filled_with_other_values(model):
    from transformers.cache_utils import DynamicLayer

    def halved(_module, args, kwargs):
        cache = args[1] if len(args) > 1 else kwargs.get("past_key_values")
        if (
            cache is not None
            and cache.layers
            and isinstance(cache.layers[0], DynamicLayer)
        ):
            layer = cache.layers[0]
            if layer.values is not None and layer.values.numel():
                layer.values = layer.values.roll(1, 2)

    attention = model.transformer.h[0].attn
    attention.register_forward_pre_hook(halved, with_kwargs=True)


@pytest.mark.parametrize(
    "plant",
    [
        positions_count_padding,
        mask_is_dropped,
        cache_is_ignored,
        cache_is_filled_with_other_values,
    ],
)
def test_a_cache_mask_or_position_that_is_lost_is_found(plant):
    model = lively(gpt2)
    plant(model)
    outcome = tried("cached-decoding", model, padded())
    assert named(outcome) == ["generate"]
    assert "with cache" in outcome.says
