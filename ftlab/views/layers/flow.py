"""Where the gradient of a loss flows, and where it is cut off."""

import textwrap
from typing import Any

import numpy as np

from ftlab.records.flow import Flow
from ftlab.views.drawn import Axes, Canvas
from ftlab.views.layers.flow_html import flow_html
from ftlab.views.layers.flow_words import headline, sentences
from ftlab.views.style import SERIES, SEVERITY
from ftlab.views.view import Rows, View

WIDTH = 96
"""Characters of a line of text."""
NAMED = 24
"""Blocks that the picture names; of more, every second or third."""


class FlowView(View[Flow]):
    """Which parameters a loss reaches, and which lines keep it from the others.

    Attributes
    ----------
    flow
        All that was found: cuts with their lines, blocks, norms on the edges.

    Examples
    --------
    >>> from ftlab.records.flow import Flow, FlowBlock
    >>> from ftlab.views.layers.flow import FlowView
    >>> FlowView(Flow(2.0, 3, (FlowBlock("layers.0", 3, 3, 0.5, 0.1),)))
    Gradient flow: the loss reaches all 3 trained parameters
    """

    title = "Gradient flow"

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self.flow = flow

    @property
    def ok(self) -> bool:
        """Whether no parameter is cut off."""
        return self.flow.ok

    def headline(self) -> str:
        """Say how much the loss reaches."""
        return f"Gradient flow: {headline(self.flow)}"

    def _table(self, summary: Flow) -> Rows:
        """Give each block a row, from the loss to the input."""
        cuts = {name: cut.library_line for cut in summary.cuts for name in cut.blocks}
        return [
            {
                "block": each.name,
                "trained": each.trained,
                "reached": each.reached,
                "arrives": each.arrives,
                "parameters": each.parameters,
                "cut": cuts.get(each.name, ""),
            }
            for each in summary.blocks
        ]

    def _text(self, summary: Flow) -> str:
        lines = [self.headline()]
        for each in sentences(summary):
            room = "    " if each.startswith("  ") else "  "
            lines += textwrap.wrap(
                each.strip(),
                WIDTH,
                initial_indent=room,
                subsequent_indent=f"{room}  ",
                break_long_words=False,
            )
        return "\n".join(lines)

    def _make_widget(self) -> Any:
        import ipywidgets

        return ipywidgets.HTML(flow_html(self.summary))

    def draw_on(self, figure: Canvas, summary: Flow) -> None:
        """Draw the gradient that arrives at each block, from the input to the loss."""
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")
        axis = figure.subplots()
        blocks = [each for each in summary.blocks[::-1] if each.name != "loss"]
        if not blocks:
            axis.set_axis_off()
            return
        _draw_norms(axis, summary)
        every = -(-len(blocks) // NAMED)
        at = range(0, len(blocks), every)
        names = [blocks[each].name for each in at]
        axis.set_xticks(list(at), names, rotation=60, ha="right", fontsize=7)
        axis.set_ylabel("L2 norm", fontsize=8)
        axis.tick_params(axis="y", labelsize=7)
        axis.legend(fontsize=7, loc="best", frameon=False)


def _draw_norms(axis: Axes, summary: Flow) -> None:
    blocks = [each for each in summary.blocks[::-1] if each.name != "loss"]
    lines = (
        ("gradient that arrives", [e.arrives for e in blocks], "o-", SERIES[0]),
        ("gradients of its parameters", [e.parameters for e in blocks], "s", SERIES[2]),
    )
    for name, values, style, colour in lines:
        shown = np.array(values, dtype=float)
        shown[shown <= 0] = np.nan
        axis.plot(shown, style, color=colour, markersize=3, linewidth=1, label=name)
    if any(e.arrives > 0 or e.parameters > 0 for e in blocks):
        axis.set_yscale("log")
    label = "no gradient"
    for at, each in enumerate(blocks):
        if each.reached < each.trained:
            colour = SEVERITY["error"]
            axis.axvspan(
                at - 0.5, at + 0.5, color=colour, alpha=0.18, lw=0, label=label
            )
            label = ""
    for cut in summary.cuts:
        for at, each in enumerate(blocks):
            if each.name in cut.blocks:
                axis.axvline(at - 0.5, color=SEVERITY["error"], linestyle="--", lw=1.2)
