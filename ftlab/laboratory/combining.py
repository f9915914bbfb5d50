"""What `add_weighted_adapter` makes of a weighted sum, for every combination type."""

import math
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import evaluating, side
from ftlab.executions.side import WithoutDropout, undisturbed
from ftlab.executions.tokens import Grid
from ftlab.laboratory.effects import logits_of, moved_by
from ftlab.laboratory.mounting import Found
from ftlab.laboratory.spectra import Factors, distance, spectrum
from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.probes.adapter_config.combined import lost_by
from ftlab.probes.adapter_config.combined_heads import heads_left
from ftlab.records.adapter_combination import Combination, Combinations
from ftlab.records.errors import BadValueError
from ftlab.records.places import place_of

DENSITY = 0.5  # share of values that types which prune keep
ROUNDINGS = 32  # machine precisions up to which a relative distance is rounding
SEED = 0  # DARE draws what it drops: each type begins with this seed


def combined(
    model: Any, batch: Mapping[str, Any] | None, weights: Any, kinds: Sequence[str]
) -> Combinations:
    """Combine LoRA adapters in each way, measure, and leave the model as it was."""
    there = {p.adapter: p for p in lora_pairs(model) if p.a is not None}
    given = dict(weights) if isinstance(weights, Mapping) else {}
    numbers = all(isinstance(w, int | float) and w - w == 0 for w in given.values())
    mixable = hasattr(model, "add_weighted_adapter") and given.keys() <= there.keys()
    if not any(given.values()) or not numbers or not mixable:
        msg = (
            f"combine={weights!r}, of LoRA adapters {sorted(there)} in a "
            f"{type(model).__name__}; pass weights: combine={{'a': 0.7, 'b': 0.3}}."
        )
        raise BadValueError(msg)
    known = _kinds()
    if isinstance(kinds, str) or set(kinds) - set(known):
        msg = f"types={kinds!r}: PEFT has {', '.join(known)}; pass some in a tuple."
        raise BadValueError(msg)
    with undisturbed(side(model, batch or {})), evaluating(model), WithoutDropout():
        sums = _Sums(model, given, batch)
        found = tuple(sums.tried(kind) for kind in kinds or known)
    most = ROUNDINGS * torch.finfo(there[next(iter(given))].parameters[0].dtype).eps
    exact = tuple(e.kind for e in found if e.relative <= most and not e.lost)
    return Combinations(given, found, sums.moved, exact)


OLDER = (
    "svd linear cat ties ties_svd dare_ties dare_linear dare_ties_svd dare_linear_svd "
    "magnitude_prune magnitude_prune_svd"
)
"""What PEFT has that does not declare it: 0.17, by its docstring."""


def _kinds() -> tuple[str, ...]:
    from peft.tuners.lora import LoraModel

    hints = typing.get_type_hints(LoraModel.add_weighted_adapter)
    return typing.get_args(hints["combination_type"]) or tuple(OLDER.split())


class _Sums:
    """Combines the same adapters again and again."""

    def __init__(
        self, model: Any, weights: dict[str, float], batch: Mapping[str, Any] | None
    ) -> None:
        self.moved = math.nan
        self._model, self._weights, self._batch = model, weights, batch
        self._found = Found(model)
        self._name = "combined" + "_" * sum(map(len, model.peft_config))
        self._logits = None if batch is None else self._of_sum()

    def _of_sum(self) -> torch.Tensor | None:
        """Execute the sum itself: a "cat" with the factors that it should have."""
        try:
            if self._refused("cat"):
                return None
            for mine, parts in self._layers():
                down, up = mine.parameters
                ups = [self._scale(p) / mine.scaling * p.parameters[1] for p in parts]
                down.data = torch.cat([p.parameters[0].detach() for p in parts])
                up.data = torch.cat(ups, 1).detach().to(up)
            self._model.set_adapter(self._name)
            found = self._asked()
            with without_adapters(self._model):
                plain = self._asked()
            if found is not None and plain is not None:
                self.moved = moved_by(found, plain, Grid.of(self._batch))[0]
            return found
        finally:
            self._found.restore()

    def tried(self, kind: str) -> Combination:
        """Combine in one way, and hold the result against the sum."""
        try:
            if why := self._refused(kind):
                return Combination(kind, why=why)
            pairs = list(self._layers())
            self._model.set_adapter(self._name)
            moved, logits = (math.nan, math.nan), self._asked()
            if logits is not None and self._logits is not None:
                moved = moved_by(logits, self._logits, Grid.of(self._batch))
            lost = {what for mine, parts in pairs for what in lost_by(mine, parts)}
            if heads_left(self._model, self._name, list(self._weights)):
                lost.add("heads")
            rank = max(int(mine.parameters[0].shape[0]) for mine, _ in pairs)
            layers = tuple(self._layer(mine, parts) for mine, parts in pairs)
            scaling = pairs[0][0].scaling
            return Combination(kind, rank, scaling, layers, *moved, tuple(sorted(lost)))
        finally:
            self._found.restore()

    def _refused(self, kind: str) -> str:
        """Make the adapter, or say why PEFT does not."""
        torch.manual_seed(SEED)
        names, weights = list(self._weights), list(self._weights.values())
        settings = {"combination_type": kind, "density": DENSITY}
        try:
            self._model.add_weighted_adapter(names, weights, self._name, **settings)
        except Exception as error:  # noqa: BLE001  of many kinds: told
            return f"{type(error).__name__}: {str(error).strip()[:200]}"
        return ""

    def _layers(self) -> Iterator[tuple[LoraPair, list[LoraPair]]]:
        """Yield each layer's combined pair with those of its parts."""
        by_layer: dict[str, dict[str, LoraPair]] = {}
        for pair in lora_pairs(self._model):
            if pair.a is not None:
                by_layer.setdefault(pair.module, {})[pair.adapter] = pair
        for pairs in by_layer.values():
            parts = [pairs[name] for name in self._weights if name in pairs]
            if self._name in pairs and parts:
                yield pairs[self._name], parts

    def _scale(self, part: LoraPair) -> float:
        return self._weights[part.adapter] * part.scaling

    def _layer(self, mine: LoraPair, parts: list[LoraPair]) -> tuple[str, float, float]:
        downs, ups = zip(*(_factors(p, self._scale(p)) for p in parts), strict=True)
        asked = torch.cat(downs), torch.cat(ups, 1)
        apart = distance(_factors(mine, mine.scaling), asked)
        size = float(spectrum(*asked, 1.0).values.norm())
        return place_of(shared_name(mine.module)), apart, size

    def _asked(self) -> torch.Tensor | None:
        with torch.no_grad():
            return (
                None if self._batch is None else logits_of(self._model(**self._batch))
            )


def _factors(pair: LoraPair, scale: float) -> Factors:
    a, b = (each for each in (pair.a, pair.b) if each is not None)
    return a.double().cpu(), scale * b.double().cpu()
