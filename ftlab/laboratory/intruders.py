"""Directions of an adapted weight that its base does not have.

A singular vector of W + B A, among the ten largest, is an intruder when no singular
vector of W is like it: the cosine of none is above one half. Shuttleworth et al. 2024,
"LoRA vs Full Fine-tuning: An Illusion of Equivalence" (arXiv 2410.21228), who find that
forgetting lies in them; ten and one half are what PEFT 0.21 takes to take them out
(`peft.tuners.lora.intruders`).
"""

from collections.abc import Sequence
from typing import Any

import torch

from ftlab.laboratory.quantisation import whole_weight
from ftlab.probes.adapter.lora_pairs import LoraPair
from ftlab.probes.merging.merge_loss import is_turned

TOP = 10
LIKE = 0.5
WHOLE = 2048
"""Rows or columns up to which all directions of the base are computed."""
LARGEST = 512
"""Of a larger base, so many of its largest: a direction that is like none of these was
small in it, if it was there at all."""
_SPARE, _ROUNDS = 16, 4


def spread_over(pairs: Sequence[LoraPair], count: int) -> list[LoraPair]:
    """Choose some pairs, evenly from first to last."""
    if count >= len(pairs):
        return list(pairs)
    step = (len(pairs) - 1) / max(count - 1, 1)
    return [pairs[round(step * each)] for each in range(count)]


def intruders(pair: LoraPair) -> int | None:
    """Count the intruders among the largest directions of one layer's output.

    Neither B A nor the sum is put together: the sum is applied to a few vectors at a
    time (Halko et al. 2011, randomised range finder).

    Returns
    -------
    int or None
        ``None`` where the base's weight is not to be had: it is on the meta device, an
        adapter is merged into it, or it is not finite.
    """
    if pair.adapter in pair.layer.merged_adapters:
        return None
    weight = whole_weight(pair.base)
    if weight is None or weight.dim() != 2 or pair.a is None or pair.b is None:
        return None
    base = weight.float().cpu()
    if not all(bool(each.isfinite().all()) for each in (base, pair.a, pair.b)):
        return None
    if is_turned(pair.layer):
        base = base.T
    a, b = (each.float().cpu() for each in (pair.a, pair.b * pair.scaling))
    mine = _largest(
        lambda x: base @ x + b @ (a @ x),
        lambda y: base.T @ y + a.T @ (b.T @ y),
        base.shape,
        TOP,
    )
    if min(base.shape) <= WHOLE:
        theirs = torch.linalg.svd(base, full_matrices=False).U
    else:
        theirs = _largest(lambda x: base @ x, lambda y: base.T @ y, base.shape, LARGEST)
    alike = (theirs.T @ mine).abs().amax(0)
    return int((alike < LIKE).sum())


def _largest(apply: Any, back: Any, shape: Sequence[int], count: int) -> torch.Tensor:
    """Return the output directions of the largest singular values, as columns."""
    wanted = min(count, *shape)
    drawn = torch.Generator().manual_seed(0)
    start = torch.randn(shape[1], min(wanted + _SPARE, *shape), generator=drawn)
    found = torch.linalg.qr(apply(start)).Q
    for _ in range(_ROUNDS):
        found = torch.linalg.qr(apply(torch.linalg.qr(back(found)).Q)).Q
    left = torch.linalg.svd(back(found).T, full_matrices=False).U
    return (found @ left)[:, :wanted]
