"""Activations through depth, and faults of a model's parts."""

from dataclasses import asdict
from typing import Any

import numpy as np

from ftlab.records.activation import ActivationLook, BlockActivations, PartFault
from ftlab.records.name_words import listed
from ftlab.records.places import place_of
from ftlab.views.drawn import Axes, Canvas, DataFrame
from ftlab.views.findings.entries_html import Entry, entries_html
from ftlab.views.style import SERIES, SEVERITY, count, number
from ftlab.views.view import Rows, View

NAMED = 3
"""Places of a fault, and remarks, that the text names."""
_SHARES = {
    "dead": "of the MLP's units are off for every token",
    "saturated": "of the MLP's units are at a bound for every token",
    "entropy": "of the entropy that an even attention has",
}
_PANELS = {
    "RMS and largest value": {"rms": "RMS", "largest": "largest"},
    "MLP units, %": {"dead": "off for all", "saturated": "at a bound"},
    "attention entropy, % of even": {"entropy": ""},
    "growth by block, times": {"growth": ""},
}


class ActivationView(View[ActivationLook]):
    """What a batch's forward shows: faults of parts, and the range through depth.

    Examples
    --------
    >>> from ftlab.records.activation import ActivationLook, BlockActivations
    >>> from ftlab.views.layers.activations import ActivationView
    >>> one = BlockActivations("layers.0", 1.0, 1.0, 4.0, 0.0, entropy=0.5)
    >>> ActivationView(ActivationLook("Tiny", 8, (one,)))
    Activations of Tiny: no fault in 8 tokens through 1 block
      RMS 1 in layers.0, largest value 4 (layers.0)
      50% of the entropy that an even attention has
    """

    title = "Activations"

    @property
    def faults(self) -> tuple[PartFault, ...]:
        """What is wrong, errors first; those of severity "info" are no faults."""
        return self.summary.faults

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(each.severity == "info" for each in self.faults)

    def parameters(self) -> DataFrame:
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

    def _table(self, summary: ActivationLook) -> Rows:
        """Give each block a row."""
        return [asdict(each) for each in summary.blocks]

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

        page = entries_html(
            self.headline(),
            ok=self.ok,
            entries=map(_entry, self.faults),
            notes=_words(self.summary),
        )
        return ipywidgets.VBox([ipywidgets.HTML(page), self._make_picture()])

    def size_of(self, summary: ActivationLook) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 4.6 if len(_known(summary)) > 2 else 2.8

    def draw_on(self, figure: Canvas, summary: ActivationLook) -> None:
        """Draw each measure by block, from first to last."""
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")
        panels = _known(summary)
        rows = 2 if len(panels) > 2 else 1
        grid = figure.subplots(rows, max(1, -(-len(panels) // rows)), squeeze=False)
        for axis in grid.flat[len(panels) :]:
            axis.set_axis_off()
        for axis, title in zip(grid.flat, panels, strict=False):
            axis.set_title(title, fontsize=8.5, loc="left")
            _draw(axis, summary, _PANELS[title])


def _blocks(summary: ActivationLook) -> list[BlockActivations]:
    return [each for each in summary.blocks if each.place != "input"]


def _values(summary: ActivationLook, name: str) -> np.ndarray[Any, Any]:
    return np.array([getattr(each, name) for each in _blocks(summary)], float)


def _known(summary: ActivationLook) -> list[str]:
    return [
        title
        for title, series in _PANELS.items()
        if any(np.isfinite(_values(summary, name)).any() for name in series)
    ]


def _draw(axis: Axes, summary: ActivationLook, series: dict[str, str]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    at = np.arange(len(_blocks(summary)))
    style = "o-" if len(at) <= 24 else "-"
    for at_fault in (i for i, e in enumerate(_blocks(summary)) if _is_sick(e, summary)):
        axis.axvline(at_fault, color=SEVERITY["error"], lw=4, alpha=0.2)
    for (name, label), colour in zip(series.items(), SERIES, strict=False):
        if not np.isfinite(_values(summary, name)).any():
            continue
        values = _values(summary, name) * (100 if name in _SHARES else 1)
        axis.plot(at, values, style, ms=3, color=colour, lw=1.2, label=label)
        if name in _SHARES:
            axis.set_ylim(-3, 103)
    if "rms" in series:
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter(lambda value, _: number(value))
        axis.yaxis.set_minor_formatter(NullFormatter())
    if len(series) > 1:
        axis.legend(fontsize=7, frameon=False)
    axis.locator_params(axis="x", integer=True)
    axis.set_xlabel("block", fontsize=7)
    axis.tick_params(which="both", labelsize=7)
    axis.grid(alpha=0.25)


def _is_sick(block: BlockActivations, summary: ActivationLook) -> bool:
    """Say whether something in a block has a fault."""
    faults = (each for each in summary.faults if each.severity != "info")
    places = (f"{place_of(path)}." for each in faults for path in each.places)
    return any(place.startswith(f"{block.place}.") for place in places)


def _entry(each: PartFault) -> Entry:
    where = listed(list(each.places), NAMED)
    return Entry(
        each.severity, each.component, each.said, (("where", where), ("do", each.fix))
    )


def _words(summary: ActivationLook) -> list[str]:
    """Say what the depth is like, and what could not be checked."""
    lines, blocks = [], _blocks(summary)
    if blocks:
        ends = dict.fromkeys((blocks[0], blocks[-1]))
        most = max(blocks, key=lambda each: each.largest)
        spans = " to ".join(f"{number(each.rms)} in {each.place}" for each in ends)
        largest = f"{number(most.largest)} ({most.place})"
        lines.append(f"RMS {spans}, largest value {largest}")
    for name, words in _SHARES.items():
        values = _values(summary, name)
        if np.isfinite(values).any():
            span = (f"{each:.0%}" for each in (np.nanmin(values), np.nanmax(values)))
            lines.append(f"{' to '.join(dict.fromkeys(span))} {words}")
    unchecked = list(summary.unchecked)
    if blocks and not np.isfinite(_values(summary, "entropy")).any():
        unchecked.append("attention entropy, no attention of torch was heard")
    lines += [f"not checked: {each}" for each in unchecked[:NAMED]]
    more = len(unchecked) - NAMED
    return [*lines, f"and {more} more not checked"] if more > 0 else lines
