"""Whether what an adapter adds is in the base weight already: measured from both alone.

Write the adapter's delta as ``D = U diag(s) V^T``. In the basis of U and V the base
weight is ``Y = U^T W V``, r x r. If D was merged into W, the diagonal of Y is s plus
what W happens to be there, and the off-diagonal, to which D adds nothing, is what W
happens to be alone. So the slope of diag(Y) on s is 1 where D is merged and 0 where it
is not, and the off-diagonal tells how far chance alone takes it.

The noise measured in the adapter's own subspace is that of real, correlated weights: a
trained adapter points where its base has large singular values, and the standard
deviation of all entries of W would be far too small.
"""

from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.tensors.base_norm import base_weight
from ftlab.probes.tensors.base_sample import spread

LAYERS = 64
"""At most so many pairs are looked at, spread evenly over the model."""


def delta_in_base(model: torch.nn.Module) -> dict[str, Any]:
    """Regress each adapted base weight on its adapter's delta.

    Returns
    -------
    dict
        By adapter: ``modules`` (clean paths), ``slope`` and ``sigma`` (the slope's
        standard deviation by chance) of each. Pairs whose B is 0, which are merged now
        or cannot be read are left out, as is DoRA, whose merge is no sum.
    """
    pairs = {pair.name: pair for pair in lora_pairs(model) if _is_readable(pair)}
    found: dict[str, dict[str, list[Any]]] = {}
    for name in spread(list(pairs), LAYERS):
        pair = pairs[name]
        measured = _slope(pair)
        if measured is not None:
            empty: dict[str, list[Any]] = {"modules": [], "slope": [], "sigma": []}
            row = found.setdefault(pair.adapter, empty)
            row["modules"].append(pair.module)
            row["slope"].append(measured[0])
            row["sigma"].append(measured[1])
    return found


def _is_readable(pair: LoraPair) -> bool:
    weight = base_weight(pair.base)
    return (
        pair.a is not None
        and weight is not None
        and pair.magnitude is None
        and not pair.layer.merged_adapters
        and (weight.dtype.is_floating_point and type(weight.data) is torch.Tensor)
        and not hasattr(weight, "quant_state")
        and weight.ndim == 2
    )


def _slope(pair: LoraPair) -> tuple[float, float] | None:
    """Return the slope of W on the delta and its standard deviation by chance."""
    if pair.a is None or pair.b is None:
        return None
    left, right = pair.b.double(), pair.a.double().T
    if not bool(torch.isfinite(left).all()) or not bool((left != 0).any()):
        return None
    weight = base_weight(pair.base)
    if weight is None:
        return None
    matrix = _oriented(weight, left.shape[0], right.shape[0])
    if matrix is None:
        return None
    left_basis, left_rest = torch.linalg.qr(left)
    right_basis, right_rest = torch.linalg.qr(right)
    u, s, vh = torch.linalg.svd(left_rest @ right_rest.T)
    s = pair.scaling * s
    seen = left_basis.T.to(matrix.dtype) @ matrix @ right_basis.to(matrix.dtype)
    y = u.T @ seen.double() @ vh.T
    squares = float(s.square().sum())
    if squares <= 0:
        return None
    sigma = _chance(y, matrix) / squares**0.5
    return float((s * y.diagonal()).sum()) / squares, sigma


def _oriented(weight: torch.Tensor, out: int, inside: int) -> torch.Tensor | None:
    """View the weight as (out, in); GPT-2's Conv1D keeps it the other way round."""
    matrix = weight.detach()
    if matrix.dtype in (torch.float16, torch.bfloat16):
        matrix = matrix.float()
    if matrix.shape == (out, inside):
        return matrix
    return matrix.T if matrix.T.shape == (out, inside) else None


def _chance(y: torch.Tensor, matrix: torch.Tensor) -> float:
    """Return the standard deviation of an entry of Y to which the delta adds nothing.

    One direction has no off-diagonal: then that of all entries of the weight.
    """
    rank = y.shape[0]
    if rank == 1:
        return float(matrix.double().square().mean().sqrt())
    off = y - torch.diag(y.diagonal())
    return float((off.square().sum() / (rank * (rank - 1))).sqrt())
