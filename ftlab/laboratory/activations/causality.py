"""Whether earlier tokens depend on later ones: the last of each row is changed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ftlab.executions.tokens import Grid
from ftlab.records.activation import PartFault, PartSeverity

CAUSAL = re.compile(r".*(ForCausalLM|LMHeadModel)")
LEAST = 8
"""Labels that must be the tokens themselves, for a model of the next token."""

MOVED = {torch.float64: 1e-9, torch.float32: 1e-3}
"""What a token's output may move by, over its size: the same operations on the same
shapes give the same bits, other kernels for other experts some 1e-6 in float32."""

COARSE, SUMS = 5e-2, 8
Traces = Mapping[str, torch.Tensor]


def is_due(batch: Mapping[str, Any], model: torch.nn.Module, foreign: bool) -> bool:
    """Say whether a model is to predict the next token, from what came before."""
    ids, labels = batch.get("input_ids"), batch.get("labels")
    mask = batch.get("attention_mask")
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or ids.shape[1] < 3:
        return False
    if isinstance(mask, torch.Tensor) and mask.dim() > 2:
        return False  # the batch says itself who sees whom
    if not foreign:
        parts = list(model.modules())
        named = any(CAUSAL.fullmatch(type(each).__name__) for each in parts)
        return named and any(getattr(e, "is_causal", None) is True for e in parts)
    if not isinstance(labels, torch.Tensor) or labels.shape != ids.shape:
        return False
    told = labels != -100
    return int(told.sum()) >= LEAST and bool((labels == ids)[told].all())


def changed(batch: Mapping[str, Any], grid: Grid) -> dict[str, Any]:
    """Return the batch with another token in the last place of each row."""
    ids = batch["input_ids"].clone()
    for row, last in _last(grid).items():
        others = ids[ids != ids[row, last]]
        if len(others):
            ids[row, last] = others[0]
    return {**batch, "input_ids": ids}


def trace(output: torch.Tensor) -> torch.Tensor:
    """Return a few sums of what each token has, in place of all of it."""
    at = torch.arange(output.shape[-1], device=output.device).double()
    mixing = torch.cos(at[:, None] * torch.arange(1.0, SUMS + 1).to(at) + 0.5)
    return (output.detach().double() @ mixing).cpu()


def leaks(
    before: Traces,
    after: Traces,
    grid: Grid,
    dtype: torch.dtype,
    severity: PartSeverity,
) -> Iterator[PartFault]:
    """Name the first block in which earlier tokens have moved."""
    earlier = torch.zeros(grid.shape, dtype=torch.bool)
    earlier[grid.rows, grid.positions] = True
    for row, last in _last(grid).items():
        earlier[row, last] = False
    for path, one in before.items():
        other = after.get(path)
        if other is None or one.shape != other.shape or one.shape[:2] != grid.shape:
            continue
        gap = (one - other)[earlier].norm(dim=-1)
        share = gap / one[earlier].norm(dim=-1).clamp(min=1e-30)
        if len(share) and float(share.max()) > MOVED.get(dtype, COARSE):
            said = "tokens depend on later ones: with another last token, what earlier "
            said += f"ones have moves by up to {float(share.max()):.2g} of its size"
            fix = "Mask the future: is_causal=True, or an attention mask."
            yield PartFault("causal mask", (path,), said, fix, severity)
            return


def _last(grid: Grid) -> dict[int, int]:
    """Return where the last token of each row stands."""
    return {int(r): int(p) for r, p in zip(grid.rows, grid.positions, strict=True)}
