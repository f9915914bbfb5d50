"""What a look at the machine has found, what fails in front."""

from __future__ import annotations

import html
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ftlab.records.diagnosis import Diagnosis
from ftlab.views.style import SERIES, count
from ftlab.views.view import View

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

MARKS = {"fails": "✗", "noted": "!", "works": "✓", "not checked": "?"}
COLOURS = {"fails": SERIES[1], "noted": SERIES[3], "works": SERIES[2]}

Looks = tuple[Diagnosis, ...]


class DoctorView(View[Looks]):
    """A machine and its packages.

    Examples
    --------
    >>> from ftlab.records.diagnosis import Diagnosis
    >>> from ftlab.views.findings.doctor import DoctorView
    >>> DoctorView((Diagnosis("machine", "memory", "works", "4 GiB available"),))
    Doctor: nothing fails, 1 look
    ✓ machine      memory: 4 GiB available
    """

    title = "Doctor"

    @property
    def ok(self) -> bool:
        """Whether nothing fails."""
        return all(each.health != "fails" for each in self.summary)

    def headline(self) -> str:
        """Say how much fails."""
        bad = sum(each.health == "fails" for each in self.summary)
        verb = "fails" if bad == 1 else "fail"
        told = f"{bad} of {len(self.summary)} looks {verb}" if bad else ""
        return f"Doctor: {told or 'nothing fails, ' + count(len(self.summary), 'look')}"

    def to_json(self) -> dict[str, Any]:
        """Return all of it as values that JSON can hold."""
        return {"ok": self.ok, "looks": [asdict(each) for each in self.summary]}

    def _table(self, summary: Looks) -> pd.DataFrame:
        """Give each look a row."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in summary])

    def _text(self, summary: Looks) -> str:
        return "\n".join([self.headline(), *(_line(e) for e in _ordered(summary))])

    def _make_widget(self) -> Any:
        import ipywidgets

        rows = "".join(_row(each) for each in _ordered(self.summary))
        head = html.escape(self.headline())
        return ipywidgets.HTML(f"<b>{head}</b><table>{rows}</table>")

    def draw_on(self, figure: Figure | SubFigure, summary: Looks) -> None:
        """Write the looks, each with its mark in colour."""
        axis = figure.subplots()
        axis.set_axis_off()
        shown = _ordered(summary)
        for at, each in enumerate(shown):
            height = 1 - (at + 0.5) / len(shown)
            colour = COLOURS.get(each.health, "#888888")
            axis.text(0, height, MARKS[each.health], color=colour, fontsize=8)
            axis.text(0.03, height, f"{each.what}: {each.says}"[:110], fontsize=7)
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")


def _ordered(summary: Looks) -> list[Diagnosis]:
    """Put what fails in front, then what is noted."""
    order = list(MARKS)
    return sorted(summary, key=lambda each: order.index(each.health))


def _line(each: Diagnosis) -> str:
    more = f" → {each.fix}" * bool(each.fix) + f" [{each.source}]" * bool(each.source)
    return f"{MARKS[each.health]} {each.part:<12} {each.what}: {each.says}{more}"


def _row(each: Diagnosis) -> str:
    cells = (each.what, each.says, each.fix, each.source)
    texts = "".join(f"<td style='text-align:left'>{html.escape(e)}</td>" for e in cells)
    mark = COLOURS.get(each.health, "#888888")
    return f"<tr><td style='color:{mark}'>{MARKS[each.health]}</td>{texts}</tr>"
