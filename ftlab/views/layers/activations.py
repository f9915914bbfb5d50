"""Activations through depth, and faults of a model's parts."""

from __future__ import annotations

import html
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.records.activation import ActivationLook, BlockActivations, PartFault
from ftlab.records.name_words import listed
from ftlab.views.style import SERIES, SEVERITY, count, number
from ftlab.views.view import View

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

NAMED = 3
"""Places of a fault, and remarks, that the text names."""

_PANELS = (
    ("RMS and largest value", (("rms", "RMS"), ("largest", "largest")), True),
    ("MLP units, %", (("dead", "off for all"), ("saturated", "at a bound")), False),
    ("attention entropy, % of even", (("entropy", ""),), False),
    ("growth by block, times", (("growth", ""),), False),
)


class ActivationView(View[ActivationLook]):
    """What a batch's forward shows: faults of parts, and the range through depth.

    Examples
    --------
    >>> from ftlab.records.activation import ActivationLook, BlockActivations
    >>> from ftlab.views.layers.activations import ActivationView
    >>> one = BlockActivations("layers.0", 1.0, 1.0, 4.0, 0.0)
    >>> ActivationView(ActivationLook("Tiny", 8, (one,)))
    Activations of Tiny: no fault in 8 tokens through 1 block
      RMS 1 in layers.0, largest value 4
    """

    title = "Activations"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.summary.ok

    @property
    def faults(self) -> tuple[PartFault, ...]:
        """What is wrong, errors first; those of severity "info" are no faults."""
        return self.summary.faults

    def parameters(self) -> pd.DataFrame:
        """Return each parameter's values and those that its class prescribes."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in self.summary.parameters])

    def headline(self) -> str:
        """Say how many faults there are, in how much."""
        it = self.summary
        wrong = sum(each.severity != "info" for each in it.faults)
        told = count(wrong, "fault") if wrong else "no fault"
        tokens = f" in {count(it.tokens, 'token')}" if it.tokens else ""
        through = count(len(_blocks(it)), "block")
        return f"Activations of {it.model}: {told}{tokens} through {through}"

    def _table(self, summary: ActivationLook) -> pd.DataFrame:
        """Give each block a row."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in summary.blocks])

    def _text(self, summary: ActivationLook) -> str:
        lines = [self.headline()]
        for each in summary.faults:
            mark = "note: " if each.severity == "info" else ""
            where = listed(list(each.places), NAMED)
            lines.append(f"  {mark}{each.component} at {where}: {each.said}")
            lines += [f"    {each.fix}"] if each.fix else []
        return "\n".join([*lines, *(f"  {each}" for each in _words(summary))])

    def _make_widget(self) -> Any:
        import ipywidgets

        head = html.escape(self.headline())
        rows = "".join(_row(each) for each in self.summary.faults)
        rest = "".join(f"<div>{html.escape(e)}</div>" for e in _words(self.summary))
        page = ipywidgets.HTML(f"<b>{head}</b><table>{rows}</table>{rest}")
        return ipywidgets.VBox([page, self._make_picture()])

    def size_of(self, summary: ActivationLook) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 4.6 if len(_known(summary)) > 2 else 2.8

    def draw_on(self, figure: Figure | SubFigure, summary: ActivationLook) -> None:
        """Draw each measure by block, from first to last."""
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")
        panels = _known(summary)
        if not panels:
            axis = figure.subplots()
            axis.text(0.5, 0.5, "no blocks were found", ha="center")
            axis.set_axis_off()
            return
        rows = 2 if len(panels) > 2 else 1
        grid = figure.subplots(rows, -(-len(panels) // rows), squeeze=False)
        for axis in grid.flat[len(panels) :]:
            axis.set_axis_off()
        for axis, panel in zip(grid.flat, panels, strict=False):
            _draw(axis, summary, panel)


def _blocks(summary: ActivationLook) -> list[BlockActivations]:
    return [each for each in summary.blocks if each.place != "input"]


def _values(summary: ActivationLook, name: str) -> np.ndarray[Any, Any]:
    return np.array([getattr(each, name) for each in _blocks(summary)], float)


def _known(summary: ActivationLook) -> list[Any]:
    return [
        panel
        for panel in _PANELS
        if any(np.isfinite(_values(summary, name)).any() for name, _ in panel[1])
    ]


def _draw(axis: Axes, summary: ActivationLook, panel: Any) -> None:
    title, series, log = panel
    at = np.arange(len(_blocks(summary)))
    for (name, label), colour in zip(series, SERIES, strict=False):
        values = _values(summary, name)
        share = name in ("dead", "saturated", "entropy")
        shown = 100 * values if share else values
        known = np.isfinite(shown)
        few = len(at) <= 24
        axis.plot(
            at[known],
            shown[known],
            "o-" if few else "-",
            ms=3,
            color=colour,
            lw=1.2,
            label=label,
        )
        if share:
            axis.set_ylim(-3, 103)
    if log:
        axis.set_yscale("log")
    if len(series) > 1:
        axis.legend(fontsize=7, frameon=False)
    axis.locator_params(axis="x", integer=True)
    axis.set_title(title, fontsize=8.5, loc="left")
    axis.set_xlabel("block", fontsize=7)
    axis.tick_params(labelsize=7)
    axis.grid(alpha=0.25)


def _row(each: PartFault) -> str:
    colour = SEVERITY[each.severity]
    cells = (
        f'<b style="color:{colour}">{html.escape(each.severity)}</b>',
        html.escape(each.component),
        f"<code>{html.escape(listed(list(each.places), NAMED))}</code>",
        f"{html.escape(each.said)}<br><i>{html.escape(each.fix)}</i>",
    )
    inner = "".join(
        f'<td style="text-align:left;vertical-align:top;padding-right:10px">{e}</td>'
        for e in cells
    )
    return f"<tr>{inner}</tr>"


def _words(summary: ActivationLook) -> list[str]:
    """Say what the depth is like, and what could not be checked."""
    lines = []
    blocks = _blocks(summary)
    if blocks:
        first, last = blocks[0], blocks[-1]
        largest = max(blocks, key=lambda each: each.largest)
        one = f"RMS {number(first.rms)} in {first.place}"
        if last is not first:
            one += f" to {number(last.rms)} in {last.place}"
        beyond = f" ({largest.place})" if last is not first else ""
        lines.append(f"{one}, largest value {number(largest.largest)}{beyond}")
    for name, words in (
        ("dead", "of the MLP's units off for every token"),
        ("saturated", "of the MLP's units at a bound for every token"),
        ("entropy", "of an even attention's entropy"),
    ):
        values = _values(summary, name)
        if np.isfinite(values).any():
            low, high = np.nanmin(values), np.nanmax(values)
            span = " to ".join(dict.fromkeys((f"{low:.0%}", f"{high:.0%}")))
            lines.append(f"{span} {words}")
    if blocks and not np.isfinite(_values(summary, "entropy")).any():
        lines.append("not checked: attention entropy, no attention of torch was heard")
    lines += [f"not checked: {each}" for each in summary.unchecked[:NAMED]]
    more = len(summary.unchecked) - NAMED
    return [*lines, f"and {more} more not checked"] if more > 0 else lines
