"""The LoRA view: norms of A, B and of the update BA, layer by layer."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.runlog.run import Run
from ftlab.views.charts.lines import LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.layers.lora_summary import AdapterReader, Measured
from ftlab.views.style import SERIES, count, number

BLUE, ORANGE, GREEN = SERIES[:3]
FEWEST_FOR_BAND = 4
"""With fewer layers than this, quartiles over layers say nothing."""
TEXT_LAYERS = 12
BAND = "middle half of this run's layers"
FIELDS = ("a", "b", "ba", "low", "high")


class LoraView(LinesView):
    """Norms of LoRA's A, B and update BA over the steps, one small chart per layer.

    A layer's norms are the root of the summed squares of its adapter pairs. The band
    is where BA would lie if its share of the base weight were between the quartiles
    over the layers of *this* run at that step: it shows which layers learn more or
    less than the others, not what a good value is. With fewer than 4 layers there is
    no band.
    """

    title = "LoRA adapters"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._reader = AdapterReader(run)

    def _adopt(self, run: Run) -> None:
        super()._adopt(run)
        self._reader = AdapterReader(run)

    def _stamp(self) -> Hashable:
        return id(self._run), self._run.last_step, len(self._run.names("adapters"))

    def _make_plan(self) -> Plan:
        self._reader.look()
        layers, stride = self._reader.layers, self._reader.stride
        plan = self._plan
        if plan and plan.stride == stride and len(plan.panels) == len(layers):
            return plan
        banded = len(layers) >= FEWEST_FOR_BAND
        panels = []
        for layer in layers:
            series = [
                Series(f"{layer} a", "A", BLUE),
                Series(f"{layer} b", "B", ORANGE),
                Series(f"{layer} ba", "update (scaling x BA)", GREEN),
            ]
            if banded:
                series.insert(0, Series(f"{layer} high", BAND, GREEN, "high"))
                series.insert(0, Series(f"{layer} low", BAND, GREEN, "low"))
            panels.append(Panel(layer, tuple(series), log=True))
        rows = {f"{layer} {field}": "latest" for layer in layers for field in FIELDS}
        return Plan(rows, tuple(panels), compact=True, stride=stride, minimum=150)

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        measured = self._reader.read(start, stop)
        low, high = band(measured)
        fields = [measured.a, measured.b, measured.ba, low, high]
        table = np.stack(fields, 2).reshape(
            len(measured.steps), len(FIELDS) * len(self._reader.layers)
        )
        return measured.steps, table

    def _notes(self) -> tuple[str, ...]:
        last = self._reader.last
        if last is None:
            return ()
        notes = [
            _note(last, index, self._reader.ranks[index])
            for index in range(len(self._reader.layers))
        ]
        if len(notes) >= FEWEST_FOR_BAND:
            rest = "Band: where the update would lie if its share of the base weight "
            rest += "were between the quartiles over this run's layers."
        else:
            rest = f"No band: {count(len(notes), 'layer')} are too few to compare."
        return (*notes, rest)

    def _data(self) -> Mapping[str, Any]:
        return self._reader.pairs()

    def _text(self, summary: LinesSummary) -> str:
        if not len(summary.first_steps) or not summary.plan.panels:
            return "LoRA adapters: nothing recorded yet"
        names = [panel.title for panel in summary.plan.panels]
        last = int(summary.first_steps[-1])
        lines = [
            f"LoRA adapters: {count(len(names), 'layer')}, measured at step {last}"
        ]
        for index, name in list(enumerate(names))[:TEXT_LAYERS]:
            row = len(FIELDS) * index
            norms = (
                number(float(value)) for value in summary.values[-1, row : row + 3]
            )
            a, b, ba = norms
            note = summary.notes[index]
            lines.append(f"{name}: |A| {a}, |B| {b}, |update| {ba}; {note}")
        if len(names) > TEXT_LAYERS:
            lines.append(f"... and {len(names) - TEXT_LAYERS} more layers in .table()")
        return "\n".join([*lines, *summary.notes[len(names) :]])


def band(measured: Measured) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where each layer's update would lie at the run's own quartiles.

    The quartiles over layers of (norm of the update / norm of the base weight), times
    each layer's own base weight.
    """
    share = measured.ba / measured.base
    if share.shape[1] < FEWEST_FOR_BAND or not len(share):
        nothing = np.full(share.shape, np.nan)
        return nothing, nothing
    usable = np.where(np.isfinite(share), share, np.nan)
    bounds = np.full((2, len(share), 1), np.nan)
    some = ~np.isnan(usable).all(1)
    if some.any():
        bounds[:, some, 0] = np.nanquantile(usable[some], [0.25, 0.75], axis=1)
    return bounds[0] * measured.base, bounds[1] * measured.base


def _note(last: Measured, index: int, rank: int) -> str:
    share = 100 * float(last.ba[-1, index]) / float(last.base[-1, index])
    text = f"{number(share)} % of W"
    used = float(last.rank[-1, index])
    if not np.isnan(used):
        text += f", rank {used:.1f}" + (f" of {rank}" if rank else "")
    return text
