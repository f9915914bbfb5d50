"""Base weights under LoRA: a sample of each as it was, and what would be added to it.

Everything is held weakly: a layer that was unloaded may go, and its weight and factors,
which an optimizer still holds, are compared as long as they are there.
"""

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.merging.merge_loss import is_turned
from ftlab.probes.tensors.base_norm import base_weight
from ftlab.probes.tensors.weight_sample import SAMPLE, sample_key
from ftlab.records.attributes import attribute_of

FEWEST = 64
"""Elements that a weight must have."""

MOST = 4
"""Adapters of one layer that are looked at; a layer with more of them is left out."""


@dataclass(frozen=True, slots=True)
class Factors:
    """A and B of one adapter; ``scaling`` is the layer's own dictionary."""

    adapter: str
    a: "weakref.ref[torch.nn.Parameter]"
    b: "weakref.ref[torch.nn.Parameter]"
    scaling: Mapping[str, float]
    rank: int
    alpha: float

    def at(self, out: torch.Tensor, inside: torch.Tensor) -> torch.Tensor | None:
        """Return elements of scaling x B A; ``None`` where a factor is gone."""
        a, b = self.a(), self.b()
        if a is None or b is None:
            return None
        down = _matrix(a, out.device).index_select(1, inside)
        up = _matrix(b, out.device).index_select(0, out)
        return torch.linalg.vecdot(up.float(), down.T.float() * self.factor)

    @property
    def factor(self) -> float:
        """What B A is multiplied by now."""
        return float(self.scaling.get(self.adapter, 1.0))


@dataclass(slots=True)
class MergePlace:
    """One weight: what its sample was, and the adapters on it.

    Attributes
    ----------
    sample
        Its elements when it was last looked at, with what PEFT has merged since.
    merged
        Adapters that PEFT has merged into it.
    held
        By adapter, how often it was seen to be added by somebody else.
    standing
        Whether its layer is still in the model.
    turned
        Whether outputs are columns.
    """

    path: str
    layer: "weakref.ref[torch.nn.Module]"
    base: "weakref.ref[torch.nn.Module]"
    factors: tuple[Factors, ...]
    turned: bool
    shape: torch.Size
    sample: torch.Tensor
    merged: frozenset[str] = frozenset()
    held: dict[str, float] = field(default_factory=dict)
    standing: bool = True
    _places: tuple[torch.Tensor, torch.Tensor] | None = None
    _before: torch.Tensor | None = None

    def vectors(self) -> torch.Tensor | None:
        """Return rows: the change since the last look, and what each adapter adds.

        After these, where the weight is square, what each would add transposed.
        ``None`` where the weight is trained, gone, or another one.
        """
        weight = self._weight()
        if weight is None:
            return None
        row, column = self._elements(weight)
        now = weight[row, column].float()
        rows = [now - self.sample.to(now.device)]
        ways = [(column, row) if self.turned else (row, column)]
        if weight.shape[0] == weight.shape[1]:
            ways.append(ways[0][::-1])
        for out, inside in ways:
            for each in self.factors:
                added = each.at(out, inside)
                if added is None:
                    return None
                rows.append(added)
        self.sample = now
        return torch.stack(rows)

    def live(self, adapter: str) -> bool:
        """Tell whether the layer adds this adapter to what the weight gives."""
        layer: Any = self.layer()
        return (
            layer is not None
            and self.standing
            and not (layer.merged or layer.disable_adapters)
            and adapter in layer.active_adapters
        )

    def before_merging(self) -> None:
        """Remember the weight: PEFT is about to write to it."""
        self._before = self._now()

    def after_merging(self) -> None:
        """Take what PEFT has written as known."""
        before, now, layer = self._before, self._now(), self.layer()
        self._before = None
        if before is not None and now is not None and before.device == now.device:
            self.sample = self.sample.to(now.device) + (now - before)
        if layer is not None:
            self.merged = frozenset(attribute_of(layer, "merged_adapters", ()))

    def _now(self) -> torch.Tensor | None:
        weight = self._weight()
        return None if weight is None else weight[self._elements(weight)].float()

    def _elements(self, matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self._places is None or self._places[0].device != matrix.device:
            self._places = elements(matrix)
        return self._places

    def _weight(self) -> torch.Tensor | None:
        """Return the weight as a matrix, if it can be compared with the sample."""
        base = self.base()
        weight = None if base is None else _readable(base)
        if weight is None or weight.shape != self.shape or weight.requires_grad:
            return None
        return weight.detach().flatten(1)


class MergePlaces:
    """The weights under the LoRA layers of a model, as each was first seen."""

    def __init__(self) -> None:
        self._places: dict[str, MergePlace] = {}
        self._turn = 0

    def __iter__(self) -> Iterator[MergePlace]:
        return iter(self._places.values())

    def look(self, model: torch.nn.Module) -> None:
        """Find new layers and new adapters; what was unloaded stays."""
        for place in self:
            place.standing = False
        for _, group in groupby(lora_pairs(model), key=lambda pair: id(pair.layer)):
            pairs = list(group)
            known = self._places.get(pairs[0].module)
            if known is not None and known.layer() is pairs[0].layer:
                known.factors, known.standing = _factors(pairs), True
            else:
                self._add(pairs)

    def of(self, layer: Any) -> MergePlace | None:
        """Return the place of a layer."""
        return next((each for each in self if each.layer() is layer), None)

    def next(self) -> list[MergePlace]:
        """Return the one whose turn it is."""
        places = list(self._places.values())
        self._turn += 1
        return places[self._turn % len(places) :][:1] if places else []

    def _add(self, pairs: list[LoraPair]) -> None:
        pair = pairs[0]
        self._places.pop(pair.module, None)
        weight, factors = _readable(pair.base), _factors(pairs)
        if weight is None or not factors:
            return
        matrix = weight.detach().flatten(1)
        self._places[pair.module] = MergePlace(
            pair.module,
            weakref.ref(pair.layer),
            weakref.ref(pair.base),
            factors,
            is_turned(pair.layer),
            weight.shape,
            matrix[elements(matrix)].float(),
        )


def _factors(pairs: Iterable[LoraPair]) -> tuple[Factors, ...]:
    """Hold what merging adds as a plain product; nothing where one adds otherwise."""
    pairs = list(pairs)
    if len(pairs) > MOST or any(not _is_sum(pair) for pair in pairs):
        return ()
    return tuple(
        Factors(
            pair.adapter,
            weakref.ref(pair.parameters[0]),
            weakref.ref(pair.parameters[1]),
            pair.layer.scaling,
            int(pair.layer.r[pair.adapter]),
            float(pair.layer.lora_alpha[pair.adapter]),
        )
        for pair in pairs
    )


def _is_sum(pair: LoraPair) -> bool:
    """Tell plain LoRA: no DoRA, no other variant, no blocks of a grouped kernel."""
    return (
        pair.a is not None
        and pair.magnitude is None
        and pair.adapter not in attribute_of(pair.layer, "lora_variant", {})
        and pair.parameters[1].flatten(1).shape[1] == pair.parameters[0].shape[0]
    )


def _readable(base: torch.nn.Module) -> torch.Tensor | None:
    weight = base_weight(base)
    if weight is None or weight.dim() < 2 or weight.numel() < FEWEST:
        return None
    if sample_key(weight) is None or hasattr(weight, "quant_state"):
        return None
    return weight


def _matrix(parameter: torch.Tensor, device: torch.device) -> torch.Tensor:
    return parameter.detach().flatten(1).to(device)


def elements(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Choose elements spread over rows and columns alike, the same ones each time.

    The distance is odd: a power of two would hit the same columns in every row.
    """
    count = matrix.numel()
    distance = -(-count // SAMPLE) | 1
    flat = torch.arange(0, count, distance, device=matrix.device)[:SAMPLE]
    return flat // matrix.shape[1], flat % matrix.shape[1]
