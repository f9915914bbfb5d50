"""Measures of LoRA pairs: norms of A, B and scaling x B A, ratio, effective rank."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.lora_pairs import LoraPair, is_rslora, lora_pairs
from ftlab.probes.adapter.spectrum import (
    cosine,
    effective_rank,
    energy_beyond,
    gram,
    pack,
    rank_of,
    singular_values,
    unpack,
)
from ftlab.probes.adapter.together import together
from ftlab.probes.naming import layers_of, named_parameters
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.tensors.base_norm import (
    base_error,
    base_norm,
    base_weight,
    float32_norm,
    is_quantized,
)
from ftlab.records.attributes import attribute_of
from ftlab.records.step import Block, Column

LARGE_RANK = 64
"""Above this rank the spectrum, cubic in the rank, is taken less often."""
LARGE_RANK_INTERVAL = 8
"""How many measurements of a large pair share one spectrum."""
CUTS = tuple(2**power for power in range(10))
"""Ranks beyond which the energy is told, of those below r."""


class Adapters(Probe):
    """Measure every LoRA pair of every adapter, as the step's forward used it.

    Pairs of one shape are measured as one stack, by the same few operations. The norm
    of a base weight is taken once, and again when it is merged into or trained.
    """

    table: ClassVar[str] = "adapters"
    columns: ClassVar[Sequence[Column]] = (
        Column("a_l2", "1", "Frobenius norm of A."),
        Column("b_l2", "1", "Frobenius norm of B."),
        Column("ba_l2", "1", "Frobenius norm of scaling x B A."),
        Column("base_l2", "1", "Frobenius norm of the weight under the adapter."),
        Column("base_error", "1", "Expected share of it that 4 bits have lost."),
        Column("ratio", "1", "ba_l2 / base_l2."),
        Column(
            "effective_rank",
            "1",
            "Exponential of the entropy of B A's normalised singular values.",
        ),
        Column("scaling", "1", "Factor that B A is multiplied with."),
        Column("magnitude_l2", "1", "L2 norm of DoRA's magnitude vector."),
        Column("together_l2", "1", "Frobenius norm of the sum of all active updates."),
        Column("rank_90", "1", "Directions that hold 90 % of B A's energy."),
        *(
            Column(f"beyond_{cut}", "1", f"Share of B A's energy beyond rank {cut}.")
            for cut in CUTS
        ),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._bases: dict[str, tuple[tuple[Any, ...], dict[str, torch.Tensor]]] = {}
        self._layers: dict[str, str] = {}
        self._step, self._measured = -1, -1

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Measure all pairs."""
        model = moment.subject.model
        rows = {id(p): i for i, p in enumerate(moment.tensors.parameters)}
        groups: dict[tuple[Any, ...], list[tuple[LoraPair, int]]] = {}
        pairs = list(lora_pairs(model))
        layers, summed = self._layers_of(model, pairs), together(pairs)
        for pair in pairs:
            meta = _meta(pair, rows, moment.tensors.ids)
            layer = layers[pair.name]
            row = moment.name(self.table, pair.name, "adapter", meta, layer=layer)
            if pair.a is not None and pair.b is not None:
                key = (*self._group_key(pair), pair.name in summed)
                groups.setdefault(key, []).append((pair, row))
        if moment.step != self._step:
            self._step, self._measured = moment.step, self._measured + 1
        whole = self._measured % LARGE_RANK_INTERVAL == 0
        return [
            self._read(moment.step, group, whole, summed) for group in groups.values()
        ]

    def _layers_of(
        self, model: torch.nn.Module, pairs: list[LoraPair]
    ) -> dict[str, str]:
        """Name layers as those of the parameters are named, anew for new pairs."""
        names = [pair.name for pair in pairs]
        if list(self._layers) != names:
            known = [entry.name for entry in named_parameters(model)]
            layers = layers_of([*known, *names])
            self._layers = {name: layers[name] for name in names}
        return self._layers

    def _group_key(self, pair: LoraPair) -> tuple[Any, ...]:
        """Pairs of one key are measured together and have the same columns."""
        down, up = pair.parameters
        shapes = (pair.a.shape if pair.a is not None else (), up.shape)
        magnitude = None if pair.magnitude is None else pair.magnitude.device
        base = tuple(self._base(pair))
        return (*shapes, down.dtype, up.dtype, down.device, base, magnitude)

    def _base(self, pair: LoraPair) -> dict[str, torch.Tensor]:
        """Return the norm of a base's weight, and its error if it is in 4 bits."""
        weight = base_weight(pair.base)
        if weight is None:
            return {}
        merged = tuple(attribute_of(pair.layer, "merged_adapters", ()))
        key = (weight.data_ptr(), tuple(weight.shape), merged)
        known = self._bases.get(pair.module)
        if known is not None and known[0] == key and not weight.requires_grad:
            return known[1]
        values = {"base_l2": base_norm(pair.base), "base_error": base_error(pair.base)}
        device = pair.parameters[0].device
        found = {
            name: value.to(device, non_blocking=True)
            for name, value in values.items()
            if value is not None
        }
        self._bases[pair.module] = (key, found)
        return found

    def _read(
        self,
        step: int,
        group: list[tuple[LoraPair, int]],
        whole: bool,
        summed: dict[str, torch.Tensor],
    ) -> Reading:
        """Queue the work for one stack of pairs."""
        pairs = [pair for pair, _ in group]
        downs = torch.stack([p.a for p in pairs if p.a is not None])
        ups = torch.stack([p.b for p in pairs if p.b is not None])
        r = downs.shape[1]
        spectrum = r <= LARGE_RANK or whole
        a_norms, a_grams = gram(downs)
        b_norms, b_grams = gram(ups.mT)
        parts = [a_norms.float(), b_norms.float(), cosine(a_grams, b_grams).float()]
        layout = _Layout(step, group, r if spectrum else 0)
        bases = [self._base(pair) for pair in pairs]
        for name in ("base_l2", "base_error"):
            known = [each[name] for each in bases if name in each]
            if layout.add(name, known):
                parts.append(torch.stack(known))
        magnitudes = [p.magnitude for p in pairs if p.magnitude is not None]
        if layout.add("magnitude_l2", magnitudes):
            parts.append(torch.stack([float32_norm(vector) for vector in magnitudes]))
        sums = [summed[pair.name] for pair in pairs if pair.name in summed]
        if layout.add("together_l2", sums):
            parts.append(torch.stack(sums).float())
        if spectrum:
            parts += [pack(a_grams).flatten(), pack(b_grams).flatten()]
        device = a_norms.device
        values = torch.cat([part.to(device, torch.float32) for part in parts])
        return Reading(values, layout.finish)


class _Layout:
    """What the values of one reading are, and how they become rows."""

    def __init__(self, step: int, group: list[tuple[LoraPair, int]], r: int) -> None:
        self.step = step
        self.ids = np.array([row for _, row in group], np.int32)
        self.scaling = np.array([pair.scaling for pair, _ in group], np.float64)
        self.r = r
        self.columns = ["a_l2", "b_l2", "cosine"]

    def add(self, column: str, entries: list[Any]) -> bool:
        """Note a further column when every row has an entry."""
        if len(entries) != len(self.ids):
            return False
        self.columns.append(column)
        return True

    def finish(self, flat: NDArray[np.float32]) -> Iterable[Block]:
        """Make one block of what was read back."""
        count = len(self.ids)
        known = len(self.columns) * count
        table = dict(
            zip(
                self.columns, flat[:known].reshape(-1, count).astype(float), strict=True
            )
        )
        size = table["a_l2"] * table["b_l2"] * table.pop("cosine")
        table["ba_l2"] = np.abs(self.scaling) * size
        table["scaling"] = self.scaling
        if "base_l2" in table:
            with np.errstate(divide="ignore", invalid="ignore"):
                table["ratio"] = table["ba_l2"] / table["base_l2"]
        if self.r:
            a_grams, b_grams = (
                unpack(part.reshape(count, -1), self.r)
                for part in np.split(flat[known:], 2)
            )
            singular = singular_values(a_grams, b_grams)
            table["effective_rank"] = effective_rank(singular)
            table["rank_90"] = rank_of(singular, 0.9)
            for cut in (each for each in CUTS if each < self.r):
                table[f"beyond_{cut}"] = energy_beyond(singular, cut)
        values = {name: column.astype(np.float32) for name, column in table.items()}
        yield Block(Adapters.table, self.step, self.ids, values)


def _meta(
    pair: LoraPair, rows: dict[int, int], ids: NDArray[np.int32]
) -> dict[str, str | int | float | bool]:
    """Facts of one pair that views and rules need."""
    layer, adapter = pair.layer, pair.adapter
    a, b = (rows.get(id(parameter)) for parameter in pair.parameters)
    meta: dict[str, str | int | float | bool] = {
        "role": "lora_pair",
        "adapter": adapter,
        "module": pair.module,
        "a": -1 if a is None else int(ids[a]),
        "b": -1 if b is None else int(ids[b]),
        "r": int(layer.r.get(adapter, 0)),
        "alpha": float(layer.lora_alpha.get(adapter, 0)),
        "scaling": pair.scaling,
        "use_rslora": is_rslora(pair),
        "use_dora": pair.magnitude is not None,
        "quantized": is_quantized(pair.base),
        "active": adapter in layer.active_adapters and not layer.disable_adapters,
        "merged": adapter in layer.merged_adapters,
    }
    if pair.reason:
        meta |= {"measured": False, "reason": pair.reason}
    return meta
