"""What arrives of an adapter when it is merged into the base weights."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.lora_pairs import LoraPair, pairs_of_layer
from ftlab.probes.probe import Moment, Probe, Reading, Result
from ftlab.probes.schedule import every
from ftlab.probes.tensors.whole_weight import whole_weight
from ftlab.records.attributes import attribute_of
from ftlab.records.step import Block, Column

ROWS = 16
"""Outputs of a layer that are looked at."""

_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


class MergeLoss(Probe):
    """Compare a merged weight with the base weight plus what the adapter adds.

    Rows of each layer's weight, one for each of some outputs, are read before and after
    its first merge, and again at merges on the schedule. They are whole rows, so that
    DoRA's norms can be taken over them. A quantised weight is expanded for it, as the
    merge itself does.

    Parameters
    ----------
    interval
        Steps between two measurements of one layer.
    """

    table: ClassVar[str] = "merges"
    columns: ClassVar[Sequence[Column]] = (
        Column("delta_l2", "1", "L2 norm of what the adapter adds in the rows."),
        Column("arrived_l2", "1", "L2 norm of the weight's change in the rows."),
        Column("error_l2", "1", "L2 norm of the difference of both."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._is_time = every(interval)
        self._seen: set[str] = set()
        self._before: dict[str, tuple[torch.Tensor, bool]] = {}
        self._step = -1
        self._readings: list[Reading] = []

    def on_merge(
        self, moment: Moment, layer: Any, path: str, when: str
    ) -> Iterable[Reading]:
        """Read the rows before a merge, and compare after it."""
        if when == "before merge" and not layer.merged:
            if path not in self._seen or self._is_time(moment.step):
                rows = rows_of(layer)
                if rows is not None:
                    self._before[path] = rows, _is_packed(layer)
        elif when == "after merge":
            before = self._before.pop(path, None)
            if before is not None and layer.merged:
                self._seen.add(path)
                self._measure(moment, layer, path, *before)
        return ()

    def on_adapters(
        self, moment: Moment, operations: frozenset[str]
    ) -> Iterable[Reading]:
        """Hand over what was compared in this step, whatever merge it came from."""
        return tuple(self._readings) if moment.step == self._step else ()

    def _measure(
        self, moment: Moment, layer: Any, path: str, before: torch.Tensor, packed: bool
    ) -> None:
        after, delta = rows_of(layer), _delta(layer, path, before)
        if after is None or delta is None or delta.shape != after.shape:
            return
        arrived = after - before
        norms = [torch.linalg.vector_norm(x) for x in (delta, arrived, arrived - delta)]
        if moment.step != self._step:
            self._step, self._readings = moment.step, []
        step, meta = moment.step, _meta(layer, path, packed)

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            row = moment.name(self.table, path, "module", meta, since_step=step)
            names = [column.name for column in self.columns]
            columns = dict(zip(names, values[:, None], strict=True))
            yield Block(self.table, step, np.array([row], np.int32), columns)

        self._readings.append(Reading(torch.stack(norms).float(), finish))


def rows_of(layer: Any) -> torch.Tensor | None:
    """Return whole rows of the base weight in float32, one for each of some outputs.

    A convolution's kernel counts as input. ``None`` where the weight cannot be read.
    """
    base = layer.get_base_layer()
    weight = attribute_of(base, "weight")
    if not isinstance(weight, torch.Tensor) or weight.is_meta or weight.dim() < 2:
        return None
    kept = type(weight) in (torch.Tensor, torch.nn.Parameter)
    if kept and weight.dtype not in _FLOATS:
        return None
    whole = whole_weight(base)
    if whole is None:
        return None
    turned = kept and is_turned(layer)
    return _some(whole.flatten(1), turned=turned).float().clone()


def _delta(layer: Any, path: str, before: torch.Tensor) -> torch.Tensor | None:
    """Return what the adapters that are merged should have added to these rows."""
    merged = [
        pair
        for pair in pairs_of_layer(layer, path)
        if pair.adapter in layer.merged_adapters
    ]
    if not merged or any(pair.a is None or _is_other(layer, pair) for pair in merged):
        return None
    if any(pair.magnitude is not None for pair in merged):
        return _turned_by(merged[0], before) if len(merged) == 1 else None
    return torch.stack([_product(pair) for pair in merged]).sum(0)


def _is_other(layer: Any, pair: LoraPair) -> bool:
    """Tell a variant of LoRA that PEFT merges in a way of its own, but for DoRA."""
    variants = attribute_of(layer, "lora_variant", {})
    return pair.adapter in variants and pair.magnitude is None


def _turned_by(pair: LoraPair, before: torch.Tensor) -> torch.Tensor:
    """Return what DoRA adds: rows of W + B A, each as long as its magnitude, less W."""
    magnitude = torch.zeros(0) if pair.magnitude is None else pair.magnitude
    long = _some(magnitude.reshape(-1, 1), turned=False).float()
    sums = before + _product(pair)
    return long * sums / torch.linalg.vector_norm(sums, dim=1, keepdim=True) - before


def _product(pair: LoraPair) -> torch.Tensor:
    if pair.a is None or pair.b is None:  # told by its caller
        return torch.zeros(0)
    return _some(pair.b, turned=False).float() @ pair.a.float() * pair.scaling


def _some(matrix: torch.Tensor, *, turned: bool) -> torch.Tensor:
    """Take rows spread over a matrix whose outputs are rows, or columns if turned."""
    matrix = matrix.T if turned else matrix
    distance = max(1, matrix.shape[0] // ROWS)
    return matrix[::distance][:ROWS]


def is_turned(layer: Any) -> bool:
    """Tell whether outputs are columns: in GPT-2's Conv1D, and in embeddings."""
    embeds = len(attribute_of(layer, "lora_embedding_A", ())) > 0
    return embeds or bool(attribute_of(layer, "fan_in_fan_out", False))


def _is_packed(layer: Any) -> bool:
    """Tell whether a 4-bit weight is laid out for a CPU's kernel: merging it is noise.

    Asked before the merge, which makes a new weight.
    """
    weight = attribute_of(layer.get_base_layer(), "weight")
    state = getattr(weight, "quant_state", None)
    return bool(getattr(state, "packing_format_for_cpu", False))


def _meta(layer: Any, path: str, packed: bool) -> dict[str, str | int | float | bool]:
    weight = attribute_of(layer.get_base_layer(), "weight")
    four = getattr(weight, "quant_state", None) is not None
    bits = 4 if four else 8 if weight.dtype == torch.int8 else 0
    return {
        "role": "merge",
        "module": path,
        "adapters": ",".join(layer.merged_adapters),
        "dtype": f"{bits}-bit" if bits else str(weight.dtype).removeprefix("torch."),
        "bits": bits,
        "quantized": bits > 0,
        "packed": packed,
    }
