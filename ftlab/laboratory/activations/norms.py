"""Norms: what they compute of what they are given."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

from ftlab.laboratory.activations.component import Mistake, Site, register
from ftlab.records.activation import PartFault

NORM = r".*(RMS|Layer)_?Norm.*|.*Norm(ed)?"
EPS = (1e-5, 1e-6, 1e-8, 1e-12, 0.0, 1e-3, 1e-2, 1e-1)
WRONG_EPS = 1e-2
"""Libraries have 1e-12 (BERT) to 1e-3 (Keras)."""
_NO_ROOT = "x over its mean square, without the root"
_FIX = "Compute it as the library does; check eps, the weight and its offset."


class Form(NamedTuple):
    """One way to compute a norm; ``right`` is ``None`` where only some mean it."""

    said: str
    right: bool | None
    output: Any


@register(NORM, "norm", own=False)
def norm(site: Site) -> Iterator[PartFault]:
    """Compare with the library's, or say which norm it is."""
    if site.library is not None and isinstance(site.module, torch.nn.Identity):
        wanted = type(site.library.module).__name__
        said = f"the norm is missing: Identity stands where {wanted} must be"
        yield site.fault(said, f"Put a {wanted} there.")
    elif site.comparable:
        forms = _forms(site)
        yield from site.against_library(Mistake(f.said, _FIX, f.output) for f in forms)
    elif not site.of_library:
        fitting = [f for f in _forms(site) if site.close(site.returned, f.output())]
        if fitting and all(f.right is False for f in fitting):
            yield site.fault(f"it computes {fitting[0].said}", _FIX)


def _forms(site: Site) -> Iterator[Form]:
    """Yield ways to compute a norm, the usual ones first."""
    x = site.input.double()
    weight = _parameter(site.module, ("weight", "scale", "gamma", "g"))
    bias = _parameter(site.module, ("bias", "beta", "b"))
    centred = x - x.mean(-1, keepdim=True)
    names = ("RMSNorm and its bias", "LayerNorm")
    if bias is None:
        names = ("RMSNorm", "LayerNorm without bias")
    for said, right, scale in _scales(weight):
        for eps in EPS:
            apart = f", eps {eps:g}" if eps != EPS[0] else ""
            for name, of in zip(names, (x, centred), strict=True):
                way = partial(_rms, of, eps, scale, bias)
                meant = right if eps < WRONG_EPS else None
                yield Form(f"{name}{said}{apart}", meant, way)
        for name, normed in _wrong(x).items():
            meant = False if name == _NO_ROOT else None
            yield Form(f"{name}{said}", meant, partial(_put, normed, scale, bias))
    yield Form("nothing: it returns what it is given", None, lambda: x)


def _scales(weight: Any) -> Iterator[tuple[str, bool, Any]]:
    if weight is None:
        yield "", True, None
        return
    yield " times the weight", True, weight
    yield " times 1 + the weight", True, 1 + weight
    yield " without its weight", False, None


def _rms(x: torch.Tensor, eps: float, weight: Any, bias: Any) -> torch.Tensor:
    return _put(x * (x.square().mean(-1, keepdim=True) + eps).rsqrt(), weight, bias)


def _wrong(x: torch.Tensor) -> dict[str, torch.Tensor]:
    square = x.square() + 1e-6
    mean = square.mean(-1, keepdim=True)
    total = x.square().sum(-1, keepdim=True) + 1e-6
    return {
        _NO_ROOT: x / mean,
        "x over the root of the sum of squares, not of their mean": x / total.sqrt(),
        "x over the RMS of all tokens, not of its own": x
        / square.mean((-1, -2), keepdim=True).sqrt(),
        "x over the RMS of each feature over the tokens": x
        / square.mean(-2, keepdim=True).sqrt(),
        "x less its mean, without dividing": x - x.mean(-1, keepdim=True),
        "x without dividing": x,
    }


def _put(normed: torch.Tensor, weight: Any, bias: Any) -> torch.Tensor:
    out = normed if weight is None else normed * weight
    return out if bias is None else out + bias


def _parameter(module: Any, names: tuple[str, ...]) -> Any:
    found = (getattr(module, name, None) for name in names)
    return next((e.double() for e in found if isinstance(e, torch.Tensor)), None)
