"""What was let go of, and by whom the rest is still held."""

import re

from ftlab.records.release import Released, StillHeld
from ftlab.records.sizes import size
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.style import SERIES, shortened
from ftlab.views.view import View

SHOWN = 6
"""Holders that the text names."""


class ReleaseView(View[Released]):
    """What releasing a model has freed, and what still holds on.

    Attributes
    ----------
    released
        The numbers; ``before`` and ``after`` are the allocator's, and in no text.

    Examples
    --------
    >>> from ftlab.records.release import Released, StillHeld
    >>> from ftlab.views.memory.release import ReleaseView
    >>> held = (StillHeld("best['head.weight']", "head.weight", 1024),)
    >>> ReleaseView(Released("Net", 4096, 3072, 9e6, 5e6, ("hooks: 3",), held))
    Net released: 3 KiB of 4 KiB freed; it cannot be used any more
      also let go: hooks: 3
      1 KiB still held by best['head.weight'] (head.weight)
      let go of that too (del), and its memory is free
    """

    title = "Release"

    def __init__(self, released: Released) -> None:
        super().__init__(released)
        self.released = released

    def headline(self) -> str:
        """Say how much is free."""
        it = self.released
        return f"{it.model} released: {size(it.freed)} of {size(it.bytes)} freed"

    def _table(self, summary: Released) -> DataFrame:
        """Give each storage that is still held a row."""
        import pandas as pd

        frame = pd.DataFrame(summary.held, columns=["path", "name", "bytes"])
        return frame.rename(columns={"path": "held by", "name": "what"})

    def _text(self, summary: Released) -> str:
        lines = [f"{self.headline()}; it cannot be used any more"]
        if summary.done:
            lines.append(f"also let go: {', '.join(summary.done)}")
        groups = _groups(summary)
        for path, held in groups[:SHOWN]:
            took = size(sum(each.bytes for each in held))
            more = f" and {len(held) - 1} more" if len(held) > 1 else ""
            lines.append(f"{took} still held by {path} ({held[0].name}{more})")
        if len(groups) > SHOWN:
            lines.append(f"and {len(groups) - SHOWN} more holders, in .table()")
        if groups:
            lines.append("let go of that too (del), and its memory is free")
        return "\n  ".join(lines)

    def draw_on(self, figure: Canvas, summary: Released) -> None:
        """Draw what is free and what is held, by whom."""
        axis = figure.subplots()
        names, sizes = ["freed"], [summary.freed]
        for path, held in _groups(summary)[:SHOWN]:
            names.append(f"held by {shortened(path)}")
            sizes.append(sum(each.bytes for each in held))
        colours = [SERIES[2], *[SERIES[1]] * (len(names) - 1)]
        bars = axis.barh(range(len(names)), sizes, color=colours)
        axis.bar_label(bars, list(map(size, sizes)), fontsize=7, padding=3)
        axis.set_yticks(range(len(names)), names, fontsize=7)
        axis.invert_yaxis()
        axis.set_xticks([])
        axis.margins(x=0.12)
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")


def _groups(summary: Released) -> list[tuple[str, list[StillHeld]]]:
    """Put together what one name holds by different keys, the largest first."""
    found: dict[str, list[StillHeld]] = {}
    for each in summary.held:
        found.setdefault(re.sub(r"\[[^]]*\]$", "[...]", each.path), []).append(each)
    pairs = [(held[0].path if len(held) == 1 else p, held) for p, held in found.items()]
    return sorted(pairs, key=lambda pair: -sum(e.bytes for e in pair[1]))
