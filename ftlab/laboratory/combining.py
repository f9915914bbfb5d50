"""What `add_weighted_adapter` makes of a weighted sum, for every combination type."""

import math
import time
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import evaluating, side
from ftlab.executions.side import WithoutDropout, undisturbed
from ftlab.executions.tokens import Grid
from ftlab.laboratory.effects import logits_of, moved_by
from ftlab.laboratory.mounting import Found
from ftlab.laboratory.places import place_of
from ftlab.laboratory.spectra import Factors, distance, spectrum
from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.probes.adapter_config.combined import lost_by
from ftlab.probes.adapter_config.combined_heads import heads_left
from ftlab.records.adapter_combination import Combination, Combinations, CombinedLayer

SEED = 0
"""DARE draws what it drops: each type begins with this seed."""


def all_kinds() -> tuple[str, ...]:
    """Return the combination types that the installed PEFT has, in its order."""
    from peft.tuners.lora import LoraModel

    hints = typing.get_type_hints(LoraModel.add_weighted_adapter)
    return typing.get_args(hints["combination_type"])


def combined(
    model: Any,
    weights: Mapping[str, float],
    batch: Mapping[str, Any] | None,
    kinds: Sequence[str],
    settings: Mapping[str, Any],
) -> Combinations:
    """Combine adapters in each way, measure, and leave the model as it was.

    Parameters
    ----------
    model
        A PeftModel with LoRA.
    weights
        By adapter.
    batch
        On which next tokens are compared, if there is one.
    kinds
        Combination types.
    settings
        Further arguments of ``add_weighted_adapter``.
    """
    first = next(p for p in lora_pairs(model) if p.adapter in weights).parameters[0]
    with undisturbed(side(model, batch or {})), evaluating(model), WithoutDropout():
        sums = _Sums(model, weights, batch, settings)
        sums.prepare()
        found = tuple(sums.tried(kind) for kind in kinds)
    eps = torch.finfo(first.dtype).eps
    return Combinations(dict(weights), found, sums.moved, eps)


@dataclass(slots=True)
class _Sums:
    """Combines the same adapters again and again."""

    model: Any
    weights: Mapping[str, float]
    batch: Mapping[str, Any] | None
    settings: Mapping[str, Any]
    moved: float = math.nan
    _logits: torch.Tensor | None = None
    _name: str = "combined"
    _found: Any = field(init=False)

    def prepare(self) -> None:
        """Execute the sum itself: a "cat" with the factors that it should have."""
        self._found = Found(self.model)
        while self._name in self.model.peft_config:
            self._name += "_"
        if self.batch is None:
            return
        try:
            if self._add("cat"):
                return
            for mine, parts in self._layers():
                down, up = mine.parameters
                ups = [self._scale(p) / mine.scaling * p.parameters[1] for p in parts]
                down.data = torch.cat([p.parameters[0].detach() for p in parts])
                up.data = torch.cat(ups, 1).detach().to(up)
            self._logits = self._answer()
            with without_adapters(self.model):
                plain = self._asked()
            if self._logits is not None and plain is not None:
                self.moved = moved_by(self._logits, plain, Grid.of(self.batch))[0]
        finally:
            self._found.restore()

    def tried(self, kind: str) -> Combination:
        """Combine in one way, and hold the result against the sum."""
        began = time.perf_counter()
        try:
            why = self._add(kind)
            if why:
                return Combination(kind, why=why)
            seconds = time.perf_counter() - began
            pairs = list(self._layers())
            layers = tuple(self._layer(mine, parts) for mine, parts in pairs)
            size = math.hypot(*(each.size for each in layers))
            apart = math.hypot(*(each.distance for each in layers))
            moved = turned = math.nan
            logits = None if self._logits is None else self._answer()
            if logits is not None and self._logits is not None:
                moved, turned = moved_by(logits, self._logits, Grid.of(self.batch))
            return Combination(
                kind,
                max(int(mine.parameters[0].shape[0]) for mine, _ in pairs),
                pairs[0][0].scaling,
                apart / size if size else math.nan,
                layers,
                moved,
                turned,
                seconds,
                self._lost(pairs),
            )
        finally:
            self._found.restore()

    def _add(self, kind: str) -> str:
        """Make the adapter, or say why PEFT does not."""
        torch.manual_seed(SEED)
        names, weights = list(self.weights), list(self.weights.values())
        try:
            self.model.add_weighted_adapter(
                names, weights, self._name, combination_type=kind, **self.settings
            )
        except Exception as error:  # noqa: BLE001  of many kinds: told
            return f"{type(error).__name__}: {str(error).strip()[:200]}"
        return ""

    def _layers(self) -> Iterator[tuple[LoraPair, list[LoraPair]]]:
        """Yield each layer's combined pair with those of its parts."""
        by_layer: dict[tuple[str, str], dict[str, LoraPair]] = {}
        for pair in lora_pairs(self.model):
            if pair.a is not None:
                place = pair.module, pair.name.removesuffix(f" [{pair.adapter}]")
                by_layer.setdefault(place, {})[pair.adapter] = pair
        for pairs in by_layer.values():
            parts = [pairs[name] for name in self.weights if name in pairs]
            if self._name in pairs and parts:
                yield pairs[self._name], parts

    def _scale(self, part: LoraPair) -> float:
        return self.weights[part.adapter] * part.scaling

    def _layer(self, mine: LoraPair, parts: list[LoraPair]) -> CombinedLayer:
        made = _factors(mine, mine.scaling)
        downs, ups = zip(*(_factors(p, self._scale(p)) for p in parts), strict=True)
        asked = torch.cat(downs), torch.cat(ups, 1)
        size = float(spectrum(*asked, 1.0).values.norm())
        place = place_of(shared_name(mine.module))
        return CombinedLayer(place, distance(made, asked), size)

    def _lost(
        self, pairs: Sequence[tuple[LoraPair, list[LoraPair]]]
    ) -> tuple[str, ...]:
        lost = {what for mine, parts in pairs for what in lost_by(mine, parts)}
        heads = heads_left(self.model, self._name, list(self.weights))
        return (*sorted(lost), *(["heads"] if heads else []))

    def _answer(self) -> torch.Tensor | None:
        self.model.set_adapter(self._name)
        return self._asked()

    def _asked(self) -> torch.Tensor | None:
        with torch.no_grad():
            return logits_of(self.model(**(self.batch or {})))


def _factors(pair: LoraPair, scale: float) -> Factors:
    if pair.a is None or pair.b is None:  # such pairs were left out
        raise ValueError(pair.name)
    return pair.a.double().cpu(), scale * pair.b.double().cpu()
