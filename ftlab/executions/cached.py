"""A row token by token with a cache, and at once without."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
import torch

from ftlab.executions.difference import TOLD
from ftlab.executions.distance import apart, size
from ftlab.executions.floors import over_floor
from ftlab.executions.listening import heard_modules, shared_name
from ftlab.executions.pairs import evaluating
from ftlab.executions.side import (
    NotApplicableError,
    Side,
    WithoutDropout,
    undisturbed,
    widened,
)
from ftlab.executions.stations import innermost
from ftlab.records.difference import Born, Differences, Row
from ftlab.records.handle import HandleStack

MOST = 12
"""Tokens that are given one by one; those before them are given together."""

Outputs = dict[str, torch.Tensor]


def cache(model: Any, batch: Mapping[str, Any]) -> Differences:
    """Compare steps with a cache with the whole rows, padded on the left.

    In float64, where two ways to the same agree: the first module whose outputs differ
    by more than the rounding of the precision in use is where the two part.

    Raises
    ------
    NotApplicableError
        The model has no cache, or the batch no token ids.
    """
    inner = innermost(model)
    given = _left_padded(batch)
    if getattr(getattr(inner, "config", None), "is_encoder_decoder", False):
        msg = "it decodes from an encoder's output, not from a prompt"
        raise NotApplicableError(msg)
    taken = signature(inner.forward).parameters
    if "past_key_values" not in taken:
        msg = f"{type(inner).__name__} takes no past_key_values"
        raise NotApplicableError(msg)
    if "position_ids" not in taken:
        del given["position_ids"]
    with (
        undisturbed(Side(model, batch, lambda: None)) as start,
        evaluating(model),
        torch.no_grad(),
        WithoutDropout(),
    ):
        plain = _heard(model, given, [given["input_ids"].shape[1]])
        start.restore_modules()
        with widened(model):
            whole = _heard(model, given, [given["input_ids"].shape[1]])
            start.restore_modules()
            steps = _heard(model, given, _lengths(given["input_ids"].shape[1]))
    real = given["attention_mask"].cpu() != 0
    tokens = real.nonzero().numpy().astype(np.int64)
    rows, born = _compared((plain, whole, steps), real, tokens)
    if not rows:
        msg = "no module returns one value for each token"
        raise NotApplicableError(msg)
    return Differences(
        ("the whole rows", "token by token with a cache"),
        tuple(rows),
        tuple(born[:1]),
        outcome=rows[-1].carried,
        equal=not born,
        tokens=tokens,
    )


def _compared(
    outputs: tuple[Outputs, Outputs, Outputs], real: torch.Tensor, tokens: Any
) -> tuple[list[Row], list[Born]]:
    """Measure each module's outputs, and list those that differ, in order."""
    rows: list[Row] = []
    born: list[Born] = []
    for name in outputs[1]:
        found = [each[name].cpu() for each in outputs if name in each]
        if [each.shape[:2] for each in found] != [real.shape] * 3:
            continue
        narrow, wide, steps = (each[real].flatten(1) for each in found)
        distance = apart(wide, steps)
        ratio = over_floor(distance, narrow, wide)
        share = float((distance / size(wide).clamp(min=1e-30)).max())
        far = float(ratio.max())
        rows.append(Row(name, 0, "out", "", "forward", far, far, share))
        if far > TOLD:
            beyond = tokens[(ratio > TOLD).numpy()]
            born.append(Born(name, "forward", "what it returns", far, share, beyond))
    return rows, born


def _left_padded(batch: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Return the rows of a batch, padded on the left, as a generation is given them."""
    ids, mask = batch.get("input_ids"), batch.get("attention_mask")
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or ids.shape[1] < 3:
        msg = "the batch has no input_ids of shape (rows, positions)"
        raise NotApplicableError(msg)
    known = isinstance(mask, torch.Tensor) and mask.shape == ids.shape
    real = mask != 0 if known and mask is not None else torch.ones_like(ids) != 0
    order = real.to(torch.uint8).argsort(stable=True)
    real = real.gather(1, order)
    positions = (real.cumsum(1) - 1).clamp(min=0)
    ids = ids.gather(1, order)
    return {"input_ids": ids, "attention_mask": real.long(), "position_ids": positions}


def _lengths(tokens: int) -> list[int]:
    single = min(MOST, tokens // 2)
    return [tokens - single, *[1] * single]


def _heard(
    model: Any, given: Mapping[str, torch.Tensor], lengths: list[int]
) -> Outputs:
    """Return what each module makes of all tokens, given so many at a time."""
    parts: dict[str, list[torch.Tensor]] = {}
    handles = HandleStack()
    for name, module in heard_modules(model):

        def hook(_m: Any, _a: Any, out: Any, n: str = name) -> None:
            out = getattr(out, "logits", out)
            first = out[0] if isinstance(out, tuple) and out else out
            if isinstance(first, torch.Tensor) and first.dim() == 3:
                parts.setdefault(shared_name(n), []).append(first.detach())

        handles.add(module.register_forward_hook(hook))
    try:
        at, kept = 0, None
        for length in lengths:
            now = {k: v[:, at : at + length] for k, v in given.items()}
            now["attention_mask"] = given["attention_mask"][:, : at + length]
            output = model(**now, past_key_values=kept, use_cache=len(lengths) > 1)
            at, kept = at + length, getattr(output, "past_key_values", None)
            if kept is None and len(lengths) > 1:
                msg = f"{type(model).__name__} returns no cache"
                raise NotApplicableError(msg)
    finally:
        handles.remove()
    return {name: torch.cat(each, 1) for name, each in parts.items()}
