"""LoRA: what its factors are multiplied by, and whether it can learn."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ftlab.laboratory.activations.component import Site, register
from ftlab.laboratory.activations.counterpart import is_library
from ftlab.records.activation import PartFault

ZERO_STARTS = (True, "gaussian", "true")
"""Values of init_lora_weights with which B begins at 0."""

EXACT = 1e-3
_A = ("lora_A", "lora_a", "A", "a")
_B = ("lora_B", "lora_b", "B", "b")
_BASE = ("base_layer", "base", "linear", "original", "inner", "layer")


class Pair(NamedTuple):
    """The factors of one adapter, as matrices (r, in) and (out, r)."""

    name: str
    a: torch.Tensor
    b: torch.Tensor
    scale: float | None
    prescribed: float | None
    zero: bool


def _has_factors(site: Site) -> bool:
    return next(iter(_pairs(site)), None) is not None


@register(_has_factors, "LoRA", own=False)
def low_rank(site: Site) -> Iterator[PartFault]:
    """Say whether B begins at 0, A does not, and the scale is alpha / r."""
    for pair in _pairs(site):
        a, b = (bool(each.detach().any()) for each in (pair.a, pair.b))
        if not a and not b:
            yield site.fault(
                f"A and B of {pair.name} are both 0: neither gets a gradient",
                "Draw A: torch.nn.init.kaiming_uniform_(A, a=5 ** 0.5).",
            )
        elif site.fresh and pair.zero and b:
            yield site.fault(
                f"B of {pair.name} is not 0 at the start: the model is another one "
                "before the first step",
                "torch.nn.init.zeros_(B); init_lora_weights=True of PEFT does so.",
            )
        scale = pair.scale if pair.scale is not None else _measured(site, pair)
        wanted = pair.prescribed
        if scale is None or not wanted or abs(scale / wanted - 1) < EXACT:
            continue
        yield site.fault(
            f"{pair.name} is scaled by {scale:.4g}; alpha and r make it {wanted:.4g}",
            "Scale by alpha / r, or alpha / sqrt(r) with rsLoRA.",
            "warning",
        )


def _pairs(site: Site) -> Iterator[Pair]:
    """Yield the pairs of PEFT's layers, and of layers that are written like them."""
    module, starts = site.module, site.context.get("starts", {})
    kept = getattr(module, "lora_A", None)
    if isinstance(kept, torch.nn.ModuleDict) and hasattr(module, "scaling"):
        for name in getattr(module, "active_adapters", ()):
            if name in kept and not getattr(module, "merged", False):
                zero = starts.get(name) in ZERO_STARTS
                a, b = kept[name].weight, module.lora_B[name].weight
                scale = float(module.scaling[name])
                yield Pair(name, a, b, scale, _of_config(module, name), zero)
        return
    if is_library(module):
        return
    a, b = _matrix(module, _A), _matrix(module, _B)
    base = next((getattr(module, n) for n in _BASE if hasattr(module, n)), None)
    if a is None or b is None or not hasattr(base, "weight"):
        return
    rank = min(a.shape)
    if rank != min(b.shape) and rank not in b.shape:
        return
    a = a if a.shape[0] == rank else a.T
    b = b if b.shape[1] == rank else b.T
    alpha = getattr(module, "alpha", getattr(module, "lora_alpha", None))
    wanted = alpha / rank if isinstance(alpha, float | int) else None
    yield Pair("the adapter", a, b, None, wanted, True)


def _matrix(module: Any, names: tuple[str, ...]) -> torch.Tensor | None:
    found = (getattr(module, name, None) for name in names)
    for each in found:
        weight = getattr(each, "weight", each)
        if isinstance(weight, torch.Tensor) and weight.dim() == 2:
            return weight
    return None


def _of_config(module: Any, name: str) -> float | None:
    """Return alpha / r, or alpha / sqrt(r), whichever is nearer to what is set."""
    rank, alpha = module.r.get(name), module.lora_alpha.get(name)
    if not rank or not isinstance(alpha, float | int):
        return None
    now = float(module.scaling[name])
    return min((alpha / rank, alpha / rank**0.5), key=lambda each: abs(each - now))


def _measured(site: Site, pair: Pair) -> float | None:
    """Solve for what the update is multiplied by; ``None`` where it is 0."""
    base = next(getattr(site.module, n) for n in _BASE if hasattr(site.module, n))
    x = site.input
    update = (x @ pair.a.T.to(x) @ pair.b.T.to(x)).double()
    gap = (site.output - base(x)).double()
    size = float(update.square().sum())
    if not size:
        return None
    scale = float((gap * update).sum()) / size
    return scale if site.close(gap, scale * update) else None
