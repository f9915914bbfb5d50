"""LoRA: what its factors are multiplied by, and whether it can learn."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ftlab.laboratory.activations.component import Site, register
from ftlab.records.activation import PartFault

ZERO_STARTS = (True, "gaussian", "true")
"""Values of init_lora_weights with which B begins at 0."""
EXACT = 1e-3
_A, _B = ("lora_A", "lora_a", "A", "a"), ("lora_B", "lora_b", "B", "b")
_BASE = ("base_layer", "base", "linear", "original", "inner", "layer")


class Pair(NamedTuple):
    """Factors (r, in) and (out, r), their scale, and the one that alpha and r give."""

    name: str
    a: torch.Tensor
    b: torch.Tensor
    scale: float | None
    prescribed: float | None
    zero: bool


@register(lambda site: next(_pairs(site), None) is not None, "LoRA", own=False)
def low_rank(site: Site) -> Iterator[PartFault]:
    """Say whether B begins at 0, A does not, and the scale is alpha / r."""
    for pair in _pairs(site):
        a, b = (bool(each.detach().any()) for each in (pair.a, pair.b))
        if not a and not b:
            said = f"A and B of {pair.name} are both 0: neither gets a gradient"
            yield site.fault(said, "torch.nn.init.kaiming_uniform_(A, a=5 ** 0.5).")
        elif site.fresh and pair.zero and b:
            said = f"B of {pair.name} is not 0 at the start: the model is another one"
            fix = "torch.nn.init.zeros_(B); init_lora_weights=True of PEFT does so."
            yield site.fault(f"{said} before the first step", fix)
        scale = pair.scale if pair.scale is not None else _measured(site, pair)
        wanted = pair.prescribed
        if scale is not None and wanted and abs(scale / wanted - 1) > EXACT:
            said = f"{pair.name} is scaled by {scale:.4g}; alpha and r make it"
            fix = "Scale by alpha / r, or alpha / sqrt(r) with rsLoRA."
            yield site.fault(f"{said} {wanted:.4g}", fix, "warning")


def _pairs(site: Site) -> Iterator[Pair]:
    """Yield the pairs of PEFT's layers, and of layers that are written like them."""
    module: Any = site.module
    starts = site.context.get("starts", {})
    kept = getattr(module, "lora_A", None)
    if isinstance(kept, torch.nn.ModuleDict) and hasattr(module, "scaling"):
        for name in getattr(module, "active_adapters", ()):
            if name not in kept or getattr(module, "merged", False):
                continue
            scale, rank = float(module.scaling[name]), module.r.get(name)
            alpha = module.lora_alpha.get(name) or 0
            ways = [alpha / rank, alpha / rank**0.5] if rank else []
            wanted = min(ways, key=lambda each: abs(each - scale), default=None)
            a, b = (e[name].weight for e in (module.lora_A, module.lora_B))
            yield Pair(name, a, b, scale, wanted, starts.get(name) in ZERO_STARTS)
    elif not site.of_library:
        a, b = _matrix(module, _A), _matrix(module, _B)
        if a is None or b is None or not hasattr(_base(module), "weight"):
            return
        rank = min(a.shape)
        a = a if a.shape[0] == rank else a.T
        b = b if b.shape[1] == rank else b.T
        alpha = getattr(module, "alpha", getattr(module, "lora_alpha", None))
        wanted = alpha / rank if isinstance(alpha, float | int) else None
        yield Pair("the adapter", a, b, None, wanted, True)


def _matrix(module: Any, names: tuple[str, ...]) -> Any:
    found = (getattr(module, name, None) for name in names)
    weights = (getattr(each, "weight", each) for each in found)
    return next((e for e in weights if getattr(e, "ndim", 0) == 2), None)


def _base(module: Any) -> Any:
    return next((getattr(module, n) for n in _BASE if hasattr(module, n)), None)


def _measured(site: Site, pair: Pair) -> float | None:
    """Solve for what the update is multiplied by; ``None`` where it is no such sum."""
    x = site.input
    update = (x @ pair.a.T.to(x) @ pair.b.T.to(x)).double()
    gap = (site.output - _base(site.module)(x)).double()
    size = float(update.square().sum())
    scale = float((gap * update).sum()) / size if size else 0.0
    return scale if scale and site.close(gap, scale * update) else None
