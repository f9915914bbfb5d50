"""Greedy answers, and where two of them part."""

from collections.abc import Sequence
from typing import Any

import torch


def greedy(model: Any, prompt: Sequence[int], tokens: int, pad: int = 0) -> list[int]:
    """Return the likeliest tokens behind a prompt, what ends them included."""
    ids = torch.tensor([list(prompt)], device=next(model.parameters()).device)
    made = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=tokens,
        do_sample=False,
        num_beams=1,
        pad_token_id=pad,
        temperature=None,
        top_p=None,
        top_k=None,
    )
    found: list[int] = made[0, len(prompt) :].tolist()
    return found


def parted(one: Sequence[int], other: Sequence[int]) -> int:
    """Return at which token two answers part, -1 if they do not.

    Examples
    --------
    >>> from ftlab.probes.behaviour.greedy import parted
    >>> parted([1, 2], [1, 3]), parted([1], [1, 3]), parted([1], [1])
    (1, 1, -1)
    """
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return -1 if len(one) == len(other) else min(len(one), len(other))
