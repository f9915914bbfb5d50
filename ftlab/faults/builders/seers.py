"""A tiny LLaVA, and batches that show it a picture or only text."""

from typing import Any

import torch

from ftlab.faults.builders.tiny import VOCABULARY, Batch, set_seed, sizes
from ftlab.faults.builders.zoo import PICTURE
from ftlab.faults.variation import current

IMAGE = VOCABULARY
"""The token in whose place a patch of the picture is put."""

PATCH = PICTURE // 2


def seer(seed: int = 0) -> Any:
    """Build a LLaVA: a CLIP that sees, a Llama that speaks, a projector between."""
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
    )

    set_seed(seed)
    width, depth = current().width, current().depth
    seeing = CLIPVisionConfig(
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=depth,
        num_attention_heads=4,
        image_size=PICTURE,
        patch_size=PATCH,
    )
    speaking = LlamaConfig(**(sizes() | {"vocab_size": VOCABULARY + 1}))
    config = LlavaConfig(
        vision_config=seeing,
        text_config=speaking,
        image_token_index=IMAGE,
        vision_feature_layer=-1,
    )
    return LlavaForConditionalGeneration(config)


def shown(batch: Batch, seed: int = 0) -> Batch:
    """Put a picture before the words of each row."""
    generator = torch.Generator().manual_seed(seed)
    rows, patches = len(batch["input_ids"]), (PICTURE // PATCH) ** 2
    seen = torch.randn(rows, 3, PICTURE, PICTURE, generator=generator)
    before = torch.full((rows, patches), IMAGE)
    ids = torch.cat([before, batch["input_ids"]], 1)
    labels = torch.cat([torch.full_like(before, -100), batch["labels"]], 1)
    mask = torch.ones_like(ids)
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "labels": labels,
        "pixel_values": seen,
    }
