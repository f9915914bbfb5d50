"""Greedy answers, where two of them part, and how likely their tokens were."""

from collections.abc import Collection, Sequence
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
    config = getattr(model, "config", None)
    apart_from_it = getattr(config, "is_encoder_decoder", False)
    found: list[int] = made[0, 1 if apart_from_it else len(prompt) :].tolist()
    return found


def said(
    model: Any, prompt: Sequence[int], answer: Sequence[int]
) -> torch.Tensor | None:
    """Return log-probabilities at each token of an answer, shape (tokens, vocabulary).

    ``None`` for an empty answer, or a model that has no logits at each token.
    """
    config = getattr(model, "config", None)
    if not answer or getattr(config, "is_encoder_decoder", False):
        return None
    ids = torch.tensor([[*prompt, *answer]], device=next(model.parameters()).device)
    logits = getattr(model(input_ids=ids), "logits", None)
    if logits is None or logits.dim() != 3:
        return None
    at: torch.Tensor = logits[0, -len(answer) - 1 : -1]
    return at.float().log_softmax(-1)


def apart(one: torch.Tensor | None, other: torch.Tensor | None) -> list[float]:
    """Return the KL divergence of one from another at each token, in nats."""
    if one is None or other is None:
        return []
    nats: list[float] = (one.exp() * (one - other)).sum(-1).clamp(min=0).tolist()
    return nats


def likeliest(said: torch.Tensor | None, tokens: Collection[int]) -> float | None:
    """Return the largest probability that some tokens have anywhere in an answer."""
    known = [each for each in tokens if said is not None and each < said.shape[1]]
    return float(said[:, known].max().exp()) if said is not None and known else None


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
