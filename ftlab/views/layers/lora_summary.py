"""What the LoRA view reads: adapter pairs, added up to layers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.runlog.run import Run

Floats = NDArray[np.float64]
COLUMNS = ("a_l2", "b_l2", "ba_l2", "base_l2", "ratio", "effective_rank")
RAW_STEPS = 200_000
"""A longer run is read from its roll-ups."""
FIRST_STEPS = 2048
"""How far to look for the interval of the measurements."""


UNNAMED = NameRecord(-1, "adapters", "(not named in the log)", "adapter", "?")


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
    """Reads the table ``adapters`` of a run, layer by layer.

    Attributes
    ----------
    layers
        Layers with adapters, in the model's order.
    ranks
        The largest ``r`` of each layer's pairs, 0 where it is not known.
    stride
        Steps from one measurement to the next, 1 while that is not known.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._names: dict[int, NameRecord] = {}
        self.last: Measured | None = None
        self.layers: tuple[str, ...] = ()
        self.ranks: tuple[int, ...] = ()
        self.stride = 1

    def look(self) -> None:
        """See which layers have adapters, and how often they are measured."""
        names = self._run.names("adapters")
        if len(names) != len(self._names):
            self._names = names
            ranks: dict[str, int] = {}
            for key in sorted(names):
                layer, rank = names[key].layer, int(names[key].meta.get("r", 0))
                ranks[layer] = max(ranks.get(layer, 0), rank)
            self.layers, self.ranks = tuple(ranks), tuple(ranks.values())
        if self.stride == 1 and "adapters" in self._run.tables():
            first = self._run.matrix("a_l2", "adapters", stop=FIRST_STEPS)
            steps = first.measured().steps
            self.stride = int(np.diff(steps).min()) if len(steps) > 1 else 1

    def read(self, start: int, stop: int) -> Measured:
        """Read the measured steps in ``[start, stop)`` and remember the last one."""
        far = stop - start > RAW_STEPS
        matrices = {
            name: self._run.matrix(
                name, "adapters", start=start, stop=stop, resolution=64 if far else 1
            )
            for name in ("a_l2", "b_l2", "ba_l2", "base_l2", "effective_rank")
        }
        rows = np.flatnonzero(matrices["a_l2"].known.any(1))
        place = {layer: index for index, layer in enumerate(self.layers)}
        of = [
            place[self._names[int(one)].layer] if int(one) in self._names else -1
            for one in matrices["a_l2"].ids
        ]
        member = np.array(of)[:, None] == np.arange(len(place))
        values = {
            name: matrix.values[rows].astype(np.float64)
            for name, matrix in matrices.items()
        }
        known = {name: matrix.known[rows] for name, matrix in matrices.items()}
        a, b, ba, base = (
            _root(values[name], known[name], member)
            for name in ("a_l2", "b_l2", "ba_l2", "base_l2")
        )
        rank = _mean(values["effective_rank"], known["effective_rank"], member)
        measured = Measured(matrices["a_l2"].steps[rows], a, b, ba, base, rank)
        if len(rows):
            self.last = measured
        return measured

    def pairs(self) -> Mapping[str, Any]:
        """Return one line per measured step and pair, for a table."""
        run = self._run.window(0)
        names = run.names("adapters")
        matrices = {name: run.matrix(name, "adapters") for name in COLUMNS}
        first = matrices["a_l2"]
        # A name can be missing where the folder of a run is damaged.
        records = [names.get(int(one), UNNAMED) for one in first.ids]
        at, pair = np.nonzero(first.known)
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
