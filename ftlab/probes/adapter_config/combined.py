"""Adapters that are a weighted sum of others: which ones, and how strong they are.

``add_weighted_adapter`` folds the scaling of its sources into the factors of the new
adapter, so that the new one's own scaling has to be 1. An adapter that was combined is
told by its factors: both lie in what the factors of the others span, which no adapter
that was drawn or trained by itself does. Its product against theirs gives the weights.
"""

import functools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.adapter_config.combined_heads import heads_left
from ftlab.probes.plain import readable
from ftlab.records.attributes import attribute_of

LAYERS = 4
"""Layers that are looked at: the sum is the same in all of them."""

SPANNED = 1e-2
"""Share of a factor's norm that may lie outside of what the others span; bf16."""

WIDE = 0.5
"""Share of a layer's width up to which being spanned by the others says something."""

TINY = 1e-12
"""Squared singular value, over the largest, of a direction that is not spanned."""

UNUSED = 0.05
"""Weight up to which an adapter counts as no part of a sum."""


def combinations(model: torch.nn.Module) -> dict[str, Any]:
    """Describe the active LoRA adapters that are a weighted sum of the others.

    Returns
    -------
    dict
        By name: ``weights`` (by source, the median over layers, with every scaling in
        it), ``layers`` that were looked at, the adapter's own ``scaling``, and
        ``lost``: what the sources have and the sum does not, ``"magnitudes"`` of DoRA,
        ``"biases"``, or ``"heads"``: whole copies of modules.
    """
    layers: dict[str, list[LoraPair]] = defaultdict(list)
    for pair in lora_pairs(model):
        if pair.a is not None and pair.b is not None:
            layers[pair.module].append(pair)
    several = [pairs for pairs in layers.values() if len(pairs) > 1]
    if not several:
        return {}
    some = several[:: max(1, len(several) // LAYERS)][:LAYERS]
    every = (pair for pairs in some for pair in pairs if _may_be_sum(pair))
    names = dict.fromkeys(pair.adapter for pair in every)
    readers = {name: functools.partial(_described, name, some) for name in names}
    found = {name: entry for name, entry in readable(**readers).items() if entry}
    for name, entry in found.items():
        used = [s for s, weight in entry["weights"].items() if abs(weight) > UNUSED]
        if heads_left(model, name, used):
            entry["lost"].append("heads")
    return found


def _may_be_sum(pair: LoraPair) -> bool:
    """Tell an active pair whose alpha is its rank, as PEFT makes those of a sum."""
    layer, name = pair.layer, pair.adapter
    return name in layer.active_adapters and layer.lora_alpha[name] == layer.r[name]


def _described(name: str, layers: Sequence[Sequence[LoraPair]]) -> dict[str, Any]:
    weights: dict[str, list[float]] = defaultdict(list)
    lost: set[str] = set()
    looked, scaling = 0, 1.0
    for pairs in layers:
        mine = next((pair for pair in pairs if pair.adapter == name), None)
        if mine is None:
            continue
        # A sum comes after its terms; else each term would be a sum of the rest.
        before = pairs[: pairs.index(mine)]
        found = _weights(mine, before)
        if not found:
            return {}
        looked += 1
        scaling = mine.scaling
        used = [p for p in before if abs(found.get(p.adapter, 0.0)) > UNUSED]
        lost |= lost_by(mine, used)
        for source, weight in found.items():
            weights[source].append(weight)
    medians = {s: float(torch.tensor(w).median()) for s, w in weights.items()}
    if not looked:
        return {}
    kept = {"layers": looked, "scaling": scaling, "lost": sorted(lost)}
    return kept | {"weights": medians}


def _weights(mine: LoraPair, others: Sequence[LoraPair]) -> dict[str, float]:
    """Return the weights of a layer's sum, nothing where it is none."""
    sources = [pair for pair in others if _alike(mine, pair) and _moves(pair)]
    if not sources or not _moves(mine):
        return {}
    a, b = _factors(mine)
    downs, ups = zip(*(_factors(pair) for pair in sources), strict=True)
    if not (_spanned(a, torch.cat(downs)) and _spanned(b.T, torch.cat(ups, 1).T)):
        return {}
    inner = torch.stack([_inner(mine, pair) for pair in sources])
    gram = torch.stack([torch.stack([_inner(p, q) for q in sources]) for p in sources])
    solved = torch.linalg.lstsq(gram, inner[:, None], driver="gelsd").solution
    names = [pair.adapter for pair in sources]
    return dict(zip(names, solved.flatten().tolist(), strict=True))


def _factors(pair: LoraPair) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = pair.a, pair.b
    if a is None or b is None:  # such pairs were left out
        raise ValueError(pair.name)
    return a.double().cpu(), b.double().cpu()


def _alike(mine: LoraPair, other: LoraPair) -> bool:
    (a, b), (c, d) = _factors(mine), _factors(other)
    return a.shape[1] == c.shape[1] and b.shape[0] == d.shape[0]


def _moves(pair: LoraPair) -> bool:
    return all(bool(factor.any()) for factor in _factors(pair))


def _spanned(rows: torch.Tensor, others: torch.Tensor) -> bool:
    """Tell whether ``rows`` are sums of ``others``, which are too few for any."""
    if len(others) > WIDE * others.shape[1]:
        return False
    # By the Gram matrix of the others, which is as small as their ranks are.
    values, vectors = torch.linalg.eigh(others @ others.T)
    kept = values / values[-1] > TINY
    inside = vectors[:, kept].T @ (others @ rows.T) / values[kept].sqrt()[:, None]
    whole = rows.square().sum()
    return bool(whole - inside.square().sum() <= SPANNED**2 * whole)


def _inner(one: LoraPair, other: LoraPair) -> torch.Tensor:
    """Sum of the products of the elements of both pairs' scaled B A."""
    (a, b), (c, d) = _factors(one), _factors(other)
    return one.scaling * other.scaling * ((b.T @ d) * (a @ c.T)).sum()


def lost_by(mine: LoraPair, sources: Sequence[LoraPair]) -> set[str]:
    """Name what one of the sources has learned and the sum has not."""
    found = set()
    if any(_bias(pair) for pair in sources) and not _bias(mine):
        found.add("biases")
    own = mine.magnitude
    differ = own is not None and any(_differ(own, p.magnitude) for p in sources)
    if own is not None and differ and _is_fresh(own, mine.base):
        found.add("magnitudes")
    return found


def _bias(pair: LoraPair) -> bool:
    factors = dict(attribute_of(pair.layer, "lora_B", {}))
    bias = attribute_of(factors.get(pair.adapter), "bias", None)
    return isinstance(bias, torch.Tensor) and bool(bias.detach().any())


def _differ(one: torch.Tensor, other: torch.Tensor | None) -> bool:
    if other is None:
        return False
    return not torch.allclose(one.float(), other.to(one.device).float(), rtol=1e-4)


def _is_fresh(magnitude: torch.Tensor, base: torch.nn.Module) -> bool:
    """Tell a magnitude that is still the norm of the weight that it was put on."""
    weight: Any = attribute_of(base, "weight")
    if not isinstance(weight, torch.Tensor) or not weight.is_floating_point():
        return False
    axis = 0 if type(base).__name__ == "Conv1D" else 1
    norms = weight.detach().float().flatten(1).norm(dim=axis)
    if norms.numel() != magnitude.numel():
        return False
    return torch.allclose(
        magnitude.float().flatten(), norms.to(magnitude.device), rtol=1e-2
    )
