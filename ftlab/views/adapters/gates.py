"""How much each of several adapters counts: by layer, and by layer and input."""

import itertools
import re
import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.adapter_gates import AdapterGates
from ftlab.views.adapters.heat import draw_grid
from ftlab.views.drawn import Canvas
from ftlab.views.style import number
from ftlab.views.view import Rows, View

ALIKE = 0.02
"""Weights that differ by less in the mean are called alike."""
RUNS, PANELS, NAMED_ROWS = 3, 3, 8
"""Runs of layers in the sentence, adapters with a picture of their own, rows named."""


class GatesView(View["tuple[AdapterGates, ...]"]):
    """Weights of adapters as a sentence, heatmaps and a table.

    Attributes
    ----------
    gates
        All that was heard: weights by row, token and adapter, of each layer.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.adapter_gates import AdapterGates
    >>> from ftlab.views.adapters.gates import GatesView
    >>> weights = np.array([[[0.75, 0.25], [0.85, 0.15]]])
    >>> one = AdapterGates("h.0", "layers.0", "X-LoRA", ("math", "code"), weights)
    >>> GatesView([one])
    X-LoRA: layer 0 listens to `math` (80%)
    """

    title = "Adapter weights"

    def __init__(self, gates: Sequence[AdapterGates]) -> None:
        super().__init__(tuple(gates))
        self.gates = tuple(gates)

    def headline(self) -> str:
        """Say which layers listen to which adapter."""
        kinds = " and ".join(dict.fromkeys(each.kind for each in self.gates))
        apart = [float(np.ptp(each.mean)) for each in self.gates]
        words = _per_cent if _are_shares(self.gates) else number
        if max(apart) < ALIKE:
            first = self.gates[0]
            each = words(float(first.mean.mean()))
            return f"{kinds}: all layers weigh their adapters alike ({each} each)"
        groups = itertools.groupby(self.gates, _top)
        runs = [(top, list(part)) for top, part in groups]
        one = len({_number(each.place) for each in runs[0][1]}) == 1
        verb, said = "listens to" if one else "listen to", []
        for top, part in runs[:RUNS]:
            weights = [each.mean[each.adapters.index(top)] for each in part]
            share = words(float(np.mean(weights)))
            said.append(f"{_named(part, self.gates)} {verb} `{top}` ({share})")
            verb = "to"
        more = len(runs) - RUNS
        return f"{kinds}: {', '.join(said)}" + (f" and {more} more" if more > 0 else "")

    def _table(self, summary: tuple[AdapterGates, ...]) -> Rows:
        return [
            {
                "place": each.place,
                "name": each.name,
                "kind": each.kind,
                "adapter": adapter,
                "row": row,
                "weight": each.rows[row, at],
            }
            for each in summary
            for row in range(len(each.rows))
            for at, adapter in enumerate(each.adapters)
        ]

    def _text(self, summary: tuple[AdapterGates, ...]) -> str:
        return self.headline()

    def size_of(self, summary: tuple[AdapterGates, ...]) -> tuple[float, float]:
        """Give each layer a row."""
        return 9.6, min(1.9 + 0.22 * max(len(summary), 4), 9.0)

    def draw_on(self, figure: Canvas, summary: tuple[AdapterGates, ...]) -> None:
        """Draw means by layer and adapter, and of each adapter by layer and input."""
        said = "\n".join(textwrap.wrap(self.headline(), 110))
        figure.suptitle(said, fontsize=9, x=0.01, ha="left")
        names = list(dict.fromkeys(n for each in summary for n in each.adapters))
        words = _per_cent if _are_shares(summary) else number
        most = 1.0 if _are_shares(summary) else 0.0
        means = np.array([[_of(each, n).mean() for n in names] for each in summary])
        order = np.argsort(-np.nan_to_num(means).mean(0), kind="stable")[:PANELS]
        axes = figure.subplots(1, 1 + len(order), squeeze=False)[0]
        places = [each.place for each in summary]
        draw_grid(axes[0], means, places, names, "mean weight", words=words, most=most)
        rows = max(len(each.rows) for each in summary)
        every = -(-rows // NAMED_ROWS)
        inputs = [str(row) if row % every == 0 else "" for row in range(rows)]
        for axis, at in zip(axes[1:], order, strict=True):
            grid = np.full((len(summary), rows), np.nan)
            for line, each in zip(grid, summary, strict=True):
                values = _of(each, names[at])
                line[: len(values)] = values
            draw_grid(
                axis,
                grid,
                places,
                inputs,
                f"of {names[at]}, by row",
                words=words,
                most=most,
            )
            axis.set_yticks([])


def _per_cent(share: float) -> str:
    """Write a share in whole per cent."""
    return f"{share:.0%}"


def _of(gates: AdapterGates, adapter: str) -> NDArray[np.float64]:
    """Return one adapter's weight in each row."""
    if adapter not in gates.adapters:
        return np.full(len(gates.rows), np.nan)
    return gates.rows[:, gates.adapters.index(adapter)]


def _are_shares(gates: Sequence[AdapterGates]) -> bool:
    sums = [each.weights.sum(-1) for each in gates]
    return all(bool((np.abs(each - 1) < 0.01)[~np.isnan(each)].all()) for each in sums)


def _top(gates: AdapterGates) -> str:
    return gates.adapters[int(np.nan_to_num(gates.mean, nan=-1).argmax())]


def _named(part: Sequence[AdapterGates], gates: Sequence[AdapterGates]) -> str:
    """Name layers by number, or by place where a block is divided."""
    numbers = [_number(each.place) for each in part]
    known = {id(each) for each in part}
    apart = {_number(each.place) for each in gates if id(each) not in known}
    if None in numbers or apart & set(numbers):
        ends = list(dict.fromkeys((part[0].place, part[-1].place)))
        return " to ".join(ends)
    first, last = numbers[0], numbers[-1]
    return f"layer {first}" if first == last else f"layers {first}-{last}"


def _number(place: str) -> int | None:
    found = re.search(r"layers\.(\d+)", place)
    return int(found[1]) if found else None
