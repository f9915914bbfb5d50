"""A list that was gone through, each line with a mark and a word."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ftlab.records.marked import Marked
from ftlab.views.findings.checklist_html import style_sheet
from ftlab.views.style import SEVERITY
from ftlab.views.view import View

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

WIDTH = 96
GOOD, OPEN = ("+", "✓", "#00795a", "passed"), ("?", "?", "#666666", "not-checked")
BAD = ("x", "✕", SEVERITY["error"], "error")
ASIDE = ("-", "·", "#666666", "not-checked")
NOTED = ("!", "!", SEVERITY["warning"], "warning")
"""Marks of the text and of the others, colour, and class in the style sheet."""


class MarkedView(View[tuple[Marked, ...]]):
    """Lines with marks; subclasses say which states there are.

    Attributes
    ----------
    marks
        By state.
    """

    marks: ClassVar[dict[str, tuple[str, str, str, str]]] = {}

    def __init__(self, lines: Sequence[Marked]) -> None:
        super().__init__()
        self._marked = tuple(lines)

    def _stamp(self) -> Hashable:
        return len(self._marked)

    def _summarise(self) -> tuple[Marked, ...]:
        return self._marked

    def _with(self, state: str) -> tuple[Marked, ...]:
        return tuple(each for each in self._marked if each.state == state)

    def _table(self, summary: tuple[Marked, ...]) -> pd.DataFrame:
        import pandas as pd

        rows = [
            {"name": e.name, "state": e.state, **e.numbers, "says": e.says}
            for e in summary
        ]
        return pd.DataFrame(rows)

    def _drawn(self, summary: tuple[Marked, ...]) -> list[tuple[str, str]]:
        """Return the lines of text, each with its colour."""
        width = max((len(each.name) for each in summary), default=0)
        lines = [(f"{self.title}: {self.headline()}", "#222222")]
        for each in summary:
            mark, _, colour, _ = self.marks[each.state]
            head = f"{mark} {each.name:<{width}}  {each.state}: "
            wrapped = textwrap.wrap(
                head + each.says, WIDTH, subsequent_indent=" " * (width + 4)
            )
            lines += [(line, colour) for line in wrapped]
        return lines

    def _text(self, summary: tuple[Marked, ...]) -> str:
        return "\n".join(text for text, _ in self._drawn(summary))

    def size_of(self, summary: tuple[Marked, ...]) -> tuple[float, float]:
        """Give each line of the text its room."""
        return 9.0, 0.35 + 0.2 * len(self._drawn(summary))

    def draw_on(self, figure: Figure | SubFigure, summary: tuple[Marked, ...]) -> None:
        """Write the lines in the colours of their marks."""
        lines = self._drawn(summary)
        axes = figure.add_subplot()
        axes.set_axis_off()
        for index, (text, colour) in enumerate(lines):
            height = 1 - (index + 0.8) / (len(lines) + 0.6)
            shown = text.replace("$", r"\$")
            weight = "normal" if index else "bold"
            axes.text(
                0.01,
                height,
                shown,
                color=colour,
                fontweight=weight,
                fontsize=8,
                family="monospace",
            )

    def _make_widget(self) -> Any:
        import ipywidgets

        rows = "".join(map(self._row, self.summary))
        widget = ipywidgets.HTML(
            f'<style>{style_sheet()}</style><div class="ftlab-c ftlab-c-named">'
            f'<div class="ftlab-c-head"><b>{html.escape(self.headline())}</b>'
            f"<span>{html.escape(self.title)}</span></div>{rows}</div>"
        )
        widget.add_class("ftlab-checklist")
        return widget

    def _row(self, line: Marked) -> str:
        _, mark, _, kind = self.marks[line.state]
        numbers = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd>"
            for name, value in line.numbers.items()
        )
        return (
            f'<details class="ftlab-c-{kind}"><summary>'
            f'<i class="ftlab-c-mark" title="{html.escape(line.state)}">{mark}</i>'
            f'<b class="ftlab-c-layer">{html.escape(line.name)}</b>'
            f'<span class="ftlab-c-says">{html.escape(f"{line.state}: {line.says}")}'
            f"</span></summary><div><dl>{numbers}</dl></div></details>"
        )
