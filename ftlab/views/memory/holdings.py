"""Who holds what now, by owner and name."""

from dataclasses import asdict

from ftlab.records.holdings import OWNERS, Holdings
from ftlab.records.sizes import size
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.style import SERIES, count, shortened
from ftlab.views.view import View

SHOWN = 12
"""Holders that the text and the figure show."""

COLOURS = dict(zip(OWNERS, (*SERIES, "#9a9a9a", "#6a6a6a", "#333333"), strict=True))


class HoldingsView(View[Holdings]):
    """Holders of memory, the largest first.

    Attributes
    ----------
    holdings
        The numbers; ``holdings.process`` has those of the process, which are never the
        same twice and stand in no text.

    Examples
    --------
    >>> from ftlab.records.holdings import Holding, Holdings, ProcessMemory
    >>> from ftlab.views.memory.holdings import HoldingsView
    >>> gone = "parameters of a model that is gone"
    >>> HoldingsView(
    ...     Holdings(
    ...         (
    ...             Holding("weights", "model", "Llama", 4096, 12),
    ...             Holding(gone, "trials[...]", "half", 2048, 6),
    ...         ),
    ...         ProcessMemory(1e9, 1e8),
    ...     )
    ... )
    Memory now: 6 KiB that names reach
      weights                             4 KiB  model (Llama, 12 tensors)
      parameters of a model that is gone  2 KiB  held by trials[...] (half, 6 tensors)
    """

    title = "Memory now"

    def __init__(self, holdings: Holdings) -> None:
        super().__init__(holdings)
        self.holdings = holdings

    def headline(self) -> str:
        """Say how much is held."""
        lost = self.holdings.total("reached by no name")
        inside = self.holdings.total("held inside libraries")
        said = f"{size(self.holdings.total() - lost - inside)} that names reach"
        return f"{said}, {size(lost)} that none reaches" if lost else said

    def _table(self, summary: Holdings) -> DataFrame:
        """Give each holder a row, and what the process has, in ``attrs``."""
        import pandas as pd

        columns = ["owner", "path", "what", "bytes", "count"]
        frame = pd.DataFrame(summary.held, columns=columns)
        frame.attrs |= asdict(summary.process)
        return frame

    def _text(self, summary: Holdings) -> str:
        shown = summary.held[:SHOWN]
        wide = max((len(each.owner) for each in shown), default=0)
        sizes = [size(each.bytes) for each in shown]
        long = max(map(len, sizes), default=0)
        lines = [f"{self.title}: {self.headline()}"]
        for each, took in zip(shown, sizes, strict=True):
            noun = "thing" if each.owner == "other objects" else "tensor"
            what = ", ".join(filter(None, (each.what, count(each.count, noun))))
            held = "held by " if each.owner.endswith("gone") else ""
            path = f"{held}{shortened(each.path)}"
            lines.append(f"  {each.owner:<{wide}}  {took:<{long}}  {path} ({what})")
        rest = summary.held[SHOWN:]
        if rest:
            more = size(sum(each.bytes for each in rest))
            lines.append(f"  and {more} of {len(rest)} more, in .table()")
        return "\n".join(lines)

    def size_of(self, summary: Holdings) -> tuple[float, float]:
        """Give each holder a bar."""
        return 9.0, 1.2 + 0.28 * max(min(len(summary.held), SHOWN), 1)

    def draw_on(self, figure: Canvas, summary: Holdings) -> None:
        """Draw a bar for each of the largest holders."""
        shown = summary.held[:SHOWN][::-1]
        axis = figure.subplots()
        colours = [COLOURS[each.owner] for each in shown]
        bars = axis.barh(range(len(shown)), [e.bytes for e in shown], color=colours)
        axis.bar_label(bars, [size(e.bytes) for e in shown], fontsize=7, padding=3)
        names = [f"{shortened(each.path)} ({each.owner})" for each in shown]
        axis.set_yticks(range(len(shown)), names, fontsize=7)
        axis.set_xticks([])
        axis.margins(x=0.12)
        has = summary.process
        said = f"{self.title}: {self.headline()}; process {size(has.rss)}"
        if has.reserved == has.reserved:
            said += f", CUDA {size(has.allocated)} of {size(has.reserved)} reserved"
        figure.suptitle(said, fontsize=9, x=0.01, ha="left")
