"""What ``generate`` would go on from where prompts are padded behind their last token.

Measured: the model reads a prompt with its padding, and the prompt alone.
"""

from collections.abc import Mapping
from typing import Any

import torch

from ftlab.probes.attention.undisturbed import undisturbed
from ftlab.records.attributes import attribute_of

CLOSE = 1e-2
"""Logits that differ by less, absolutely and of their size, are rounding."""

FIX = 'tokenizer.padding_side = "left" for the prompts of generate'


def behind_padding(model: torch.nn.Module, batch: Mapping[str, Any]) -> str:
    """Say what is read behind padding; ``""`` where that is no prompt's end.

    Only of a batch without labels, for a decoder that can generate: rows that are
    trained on may be padded on the right.

    Examples
    --------
    >>> import torch
    >>> from ftlab.faults.builders.tiny import llama
    >>> from ftlab.probes.attention.padded_prompts import behind_padding
    >>> ids = torch.tensor([[5, 6, 7, 0], [5, 6, 7, 8]])
    >>> batch = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    >>> behind_padding(llama(), batch)  # doctest: +ELLIPSIS
    'prompt 0 ends in padding, and generate goes on from its last column: ...
    """
    ids, mask = batch.get("input_ids"), batch.get("attention_mask")
    if ids is None or mask is None or ids.dim() != 2 or mask.shape != ids.shape:
        return ""
    if batch.get("labels") is not None or not _continues(model):
        return ""
    padded = ((mask[:, -1] == 0) & (mask != 0).any(1)).nonzero().flatten().tolist()
    if not padded:
        return ""
    row = padded[0]
    kept = ids[row : row + 1, mask[row] != 0]
    with undisturbed(model):
        model.eval()
        there = _next(model, ids[row : row + 1], mask[row : row + 1])
        alone = _next(model, kept, torch.ones_like(kept))
    if torch.allclose(there, alone, rtol=CLOSE, atol=CLOSE):
        return ""
    others = f", as {len(padded) - 1} more do" if len(padded) > 1 else ""
    return (
        f"prompt {row} ends in padding{others}, and generate goes on from its last "
        f"column: the likeliest next token is {int(there.argmax())} there and "
        f"{int(alone.argmax())} for the prompt alone, and logits differ by up to "
        f"{float((there - alone).abs().max()):.2g}"
    )


def _continues(model: torch.nn.Module) -> bool:
    can, config = attribute_of(model, "can_generate"), attribute_of(model, "config")
    if not callable(can) or getattr(config, "is_encoder_decoder", False):
        return False
    return bool(can())


def _next(
    model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    found: torch.Tensor = model(input_ids=ids, attention_mask=mask).logits[0, -1]
    return found.float()
