"""The masks that transformers makes from a configuration, without a model."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from ftlab.probes.attention.layer import LayerMask, kind_name
from ftlab.probes.attention.layer_masks import ModelMasks
from ftlab.probes.attention.mask_calls import KeptMasks, masks_kept
from ftlab.probes.attention.patterns import CausalOnly, FromTensor, Pattern
from ftlab.records.attention import LayerKind


def config_masks(
    config: Any, batch: Mapping[str, Any], shape: tuple[int, int]
) -> ModelMasks:
    """Return the masks that transformers makes from a configuration alone."""
    from transformers import masking_utils

    name = str(config._attn_implementation or "sdpa")  # noqa: SLF001
    embedded = torch.empty(*shape, 1)
    asked = {
        "config": config,
        "attention_mask": batch.get("attention_mask"),
        "past_key_values": batch.get("past_key_values"),
        "position_ids": batch.get("position_ids"),
    }
    make = masking_utils.create_masks_for_generate
    names = make.__code__.co_varnames[: make.__code__.co_argcount]
    asked["inputs_embeds" if "inputs_embeds" in names else "input_embeds"] = embedded
    if "cache_position" in names:
        asked["cache_position"] = torch.arange(shape[1])
    before = config._attn_implementation  # noqa: SLF001
    config._attn_implementation = name  # noqa: SLF001
    try:
        with masks_kept(name) as kept, torch.no_grad():
            made = make(**asked)
    finally:
        config._attn_implementation = before  # noqa: SLF001
    made = made if isinstance(made, dict) else {"": made}
    found = ModelMasks(name, shape[0])
    types = list(getattr(config, "layer_types", None) or ())
    count = int(getattr(config, "num_hidden_layers", 0) or 0)
    for told, value in made.items():
        layers = tuple(i for i, each in enumerate(types) if each == told)
        mask = _config_mask(told, value, kept, shape[1])
        layers = layers or tuple(range(count))
        mask.kind = dataclasses.replace(mask.kind, layers=layers)
        found.masks.append(mask)
    found.remarks.append(
        "read from the configuration alone: how the model calls it is not known"
    )
    return found


def _config_mask(told: str, value: Any, kept: KeptMasks, length: int) -> LayerMask:
    known = kept.of(value)
    if known is not None:
        pattern: Pattern
        pattern, local = known
        said = "transformers' mask function for this configuration"
    elif isinstance(value, torch.Tensor) and value.ndim >= 3:
        four = value[(None,) * (4 - value.ndim)]
        pattern = FromTensor(queries=length, keys=four.shape[-1], values=four)
        local, said = 0, "the mask of the batch"
    else:
        pattern, local = CausalOnly(queries=length, keys=length), 0
        said = "no mask: attention is told to be causal"
    chunked = "chunk" in told
    name = kind_name(told, causal=True, side="decoder", window=local, due=not chunked)
    return LayerMask(
        LayerKind(name, (), True, local, said), pattern, "decoder", not chunked
    )
