"""Where two checkpoints, adapters or models differ, module by module."""

import math
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import torch

from ftlab.laboratory.held import Held, held_by
from ftlab.laboratory.spectra import distance, spectrum
from ftlab.records.adapter_comparison import AdapterComparison, ComparedModule
from ftlab.records.places import place_of

PAIRS = (("lora_A.weight", "lora_B.weight"), ("lora_embedding_A", "lora_embedding_B"))
EXACT = 1e-12
"""Distance over size below which two products in float64 are the same."""
_PIECE = 1 << 22
_IDLE = frozenset(
    {
        "_name_or_path",
        "auto_mapping",
        "base_model_name_or_path",
        "inference_mode",
        "peft_version",
        "transformers_version",
    }
)
"""Settings that say where something came from, or that saving sets."""


def compared(a: Any, b: Any, adapters: tuple[str, str] = ("", "")) -> AdapterComparison:
    """Compare two sides, one module at a time.

    Parameters
    ----------
    a, b
        Folders or models.
    adapters
        Of models: which of their adapters.
    """
    with ExitStack() as stack:
        one, other = (
            held_by(each, stack, adapter)
            for each, adapter in zip((a, b), adapters, strict=True)
        )
        if one.alone or other.alone:
            for each in (one, other):
                each.only_its_own()
        first, second = list(one.shapes), list(other.shapes)
        both = [name for name in first if name in other.shapes]
        modules, reshaped = [], []
        for name in both:
            left, right = one.shapes[name], other.shapes[name]
            if left[0] != right[0] and not _is_factor(name):
                reshaped.append((name, str(list(left[0])), str(list(right[0]))))
                continue
            if left[1] != right[1]:
                reshaped.append((name, left[1], right[1]))
            found = _module(one, other, name)
            if found is not None:
                modules.append(found)
        return AdapterComparison(
            _told_apart(one.name, other.name),
            (_size(one), _size(other)),
            tuple(modules),
            (
                tuple(n for n in first if n not in other.shapes),
                tuple(n for n in second if n not in one.shapes),
            ),
            tuple(reshaped),
            tuple(_settings(one, other)),
        )


def _told_apart(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one != other else (f"{one} a", f"{other} b")


def _size(held: Held) -> int:
    return sum(size for _, _, size in held.shapes.values())


def _is_factor(name: str) -> bool:
    return any(name.endswith(each) for pair in PAIRS for each in pair)


def _module(one: Held, other: Held, name: str) -> ComparedModule | None:
    """Compare what stands at a name: at that of A, the product of A and B."""
    for first, second in PAIRS:
        if name.endswith(second):
            module = name.removesuffix(second).rstrip(".")
            partner = f"{module}.{first}"
            if all(
                partner in each.shapes and _is_one_product(each, module, partner)
                for each in (one, other)
            ):
                return None  # told at A
        if name.endswith(first):
            module = name.removesuffix(first).rstrip(".")
            partner = f"{module}.{second}"
            held = (each for each in (one, other) if partner in each.shapes)
            if sum(_is_one_product(each, module, name) for each in held) == 2:
                return _update(one, other, module, (name, partner))
    module, _, kind = name.rpartition(".")
    norms, distance, cosine = _tensors(one.get(name), other.get(name))
    return ComparedModule(module, place_of(module), kind, norms, distance, cosine)


def _is_one_product(held: Held, module: str, name: str) -> bool:
    """Say whether A has r rows: those of several experts stand in one A."""
    rows = held.shapes[name][0][0]
    return held.scalings(module, rows)[1] == rows


def _update(
    one: Held, other: Held, module: str, names: tuple[str, str]
) -> ComparedModule:
    """Compare two products by the small matrices between their factors alone."""
    (a1, b1, s1), (a2, b2, s2) = (
        _factors(each, module, names) for each in (one, other)
    )
    first, second = spectrum(a1, b1, s1), spectrum(a2, b2, s2)
    inner = s1 * s2 * float(((b1.T @ b2) * (a1 @ a2.T)).sum())
    norms = float(first.values.norm()), float(second.values.norm())
    # of the sum of squares, a small difference of large sides would be lost
    apart = distance((a1, s1 * b1), (a2, s2 * b2))
    return ComparedModule(
        module,
        place_of(module),
        "update",
        norms,
        0.0 if apart <= EXACT * max(norms) else apart,
        _cosine(inner, norms),
        _overlap(first.left, second.left, first.values, second.values),
        (a1.shape[0], a2.shape[0]),
    )


def _factors(
    held: Held, module: str, names: tuple[str, str]
) -> tuple[torch.Tensor, torch.Tensor, float]:
    a, b = (held.get(name).double().cpu().flatten(1) for name in names)
    return a, b, held.scalings(module, a.shape[0])[0]


def _overlap(
    one: torch.Tensor, other: torch.Tensor, first: torch.Tensor, second: torch.Tensor
) -> float:
    """Return the mean squared cosine of the principal angles of two column spaces."""
    spaces = [
        space[:, values > 1e-9 * max(float(values.max()), 1e-300)]
        for space, values in ((one, first), (other, second))
    ]
    least = min(space.shape[1] for space in spaces)
    if not least:
        return math.nan
    return float((spaces[0].T @ spaces[1]).square().sum()) / least


def _tensors(
    a: torch.Tensor, b: torch.Tensor
) -> tuple[tuple[float, float], float, float]:
    """Measure two tensors, some values at a time."""
    if _same(a, b):
        norm = float(torch.linalg.vector_norm(a.detach().double()))
        return (norm, norm), 0.0, 1.0 if norm > 0 else math.nan
    sums = torch.zeros(4, dtype=torch.float64)
    left, right = a.detach().flatten(), b.detach().flatten()
    for at in range(0, max(left.numel(), 1), _PIECE):
        x, y = (t[at : at + _PIECE].cpu().double() for t in (left, right))
        parts = [x.dot(x), y.dot(y), (x - y).dot(x - y), x.dot(y)]
        sums += torch.stack(parts)
    square_a, square_b, apart, inner = sums.tolist()
    norms = math.sqrt(square_a), math.sqrt(square_b)
    return norms, math.sqrt(apart), _cosine(inner, norms)


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Say whether two tensors have the same values, NaN at the same places."""
    a, b = a.detach().cpu(), b.detach().cpu()
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def _cosine(inner: float, norms: tuple[float, float]) -> float:
    product = norms[0] * norms[1]
    return max(-1.0, min(1.0, inner / product)) if product > 0 else math.nan


def _settings(one: Held, other: Held) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield what differs; a key that a file leaves out has its default."""
    left, right = one.configs, other.configs
    for file in [name for name in left if name in right]:
        keys = dict.fromkeys([*left[file], *right[file]])
        for key in [k for k in keys if k not in _IDLE]:
            known = key in left[file] and key in right[file]
            a, b = (_in_order(key, each[file].get(key)) for each in (left, right))
            if a != b and (known or (one.on_disk and other.on_disk and (a or b))):
                yield file, key, a, b


def _in_order(key: str, value: Any) -> Any:
    """Sort names of modules, which PEFT keeps as a set and writes as they come."""
    return (
        sorted(value)
        if ("target" in key or "modules" in key) and isinstance(value, list)
        else value
    )
