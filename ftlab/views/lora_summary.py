"""What the LoRA view reads: adapter pairs, added up to layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ftlab.runlog.run import Run

Floats = NDArray[np.float64]
COLUMNS = ("a_l2", "b_l2", "ba_l2", "base_l2", "ratio", "effective_rank")
RAW_STEPS = 200_000
"""A longer run is read from its roll-ups."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Norms by measured step and layer, float64 of shape ``(steps, layers)``.

    Attributes
    ----------
    a, b, ba, base
        Root of the summed squares over the layer's pairs, of A, B, scaling x BA and of
        the weights that they adapt; NaN where a pair is not finite.
    rank
        Mean effective rank of the pairs.
    """

    steps: NDArray[np.int64]
    a: Floats
    b: Floats
    ba: Floats
    base: Floats
    rank: Floats


class AdapterReader:
    """Reads the table ``adapters`` of a run, layer by layer."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.last: Measured | None = None

    @property
    def layers(self) -> tuple[str, ...]:
        """Layers with adapters, in the model's order."""
        names = self._run.names("adapters")
        return tuple(dict.fromkeys(names[key].layer for key in sorted(names)))

    @property
    def ranks(self) -> tuple[int, ...]:
        """The largest ``r`` of each layer's pairs, 0 where it is not known."""
        largest: dict[str, int] = {}
        names = self._run.names("adapters")
        for key in sorted(names):
            record = names[key]
            rank = int(record.meta.get("r", 0))
            largest[record.layer] = max(largest.get(record.layer, 0), rank)
        return tuple(largest.values())

    @property
    def stride(self) -> int:
        """Steps from one measurement to the next, 1 while that is not known."""
        if "adapters" not in self._run.tables():
            return 1
        steps = self._run.matrix("a_l2", "adapters", stop=2048).measured().steps
        return int(np.diff(steps).min()) if len(steps) > 1 else 1

    def read(self, start: int, stop: int) -> Measured:
        """Read the measured steps in ``[start, stop)`` and remember the last one."""
        layers = self.layers
        far = stop - start > RAW_STEPS
        matrices = {
            name: self._run.matrix(
                name, "adapters", start=start, stop=stop, resolution=64 if far else 1
            )
            for name in ("a_l2", "b_l2", "ba_l2", "base_l2", "effective_rank")
        }
        rows = np.flatnonzero(matrices["a_l2"].known.any(1))
        names = self._run.names("adapters")
        of = [
            layers.index(names[int(one)].layer) if int(one) in names else -1
            for one in matrices["a_l2"].ids
        ]
        member = np.array(of)[:, None] == np.arange(len(layers))
        values = {
            name: matrix.values[rows].astype(np.float64)
            for name, matrix in matrices.items()
        }
        known = {name: matrix.known[rows] for name, matrix in matrices.items()}
        norms = [
            _root(values[name], known[name], member)
            for name in ("a_l2", "b_l2", "ba_l2", "base_l2")
        ]
        rank = _mean(values["effective_rank"], known["effective_rank"], member)
        measured = Measured(matrices["a_l2"].steps[rows], *norms, rank)
        if len(rows):
            self.last = measured
        return measured

    def pairs(self) -> Mapping[str, Any]:
        """Return one line per measured step and pair, for a table."""
        run = self._run.window(0)
        names = run.names("adapters")
        if "adapters" not in run.tables():
            return {name: [] for name in ("step", "pair", "adapter", "layer", *COLUMNS)}
        matrices = {name: run.matrix(name, "adapters") for name in COLUMNS}
        at, pair = np.nonzero(matrices["a_l2"].known)
        first = matrices["a_l2"]
        records = [names[int(one)] for one in first.ids]
        data: dict[str, Any] = {
            "step": first.steps[at],
            "pair": [records[one].name for one in pair],
            "adapter": [records[one].meta.get("adapter", "") for one in pair],
            "layer": [records[one].layer for one in pair],
        }
        return data | {
            name: matrix.values[at, pair] for name, matrix in matrices.items()
        }


def _root(
    values: Floats, known: NDArray[np.bool_], member: NDArray[np.bool_]
) -> Floats:
    squares = np.where(known, values, 0.0) ** 2
    total: Floats = np.sqrt(squares @ member.astype(np.float64))
    return np.where(known @ member, total, np.nan)


def _mean(
    values: Floats, known: NDArray[np.bool_], member: NDArray[np.bool_]
) -> Floats:
    usable = known & np.isfinite(values)
    number = usable.astype(np.float64) @ member.astype(np.float64)
    total = np.where(usable, values, 0.0) @ member.astype(np.float64)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
