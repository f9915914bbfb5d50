"""What a look at the machine has found, what fails in front."""

from dataclasses import asdict
from typing import Any

from ftlab.records.diagnosis import Diagnosis, Health
from ftlab.views.drawn import Canvas
from ftlab.views.findings.entries_html import Entry, Kind, entries_html
from ftlab.views.style import SERIES, count
from ftlab.views.view import Rows, View

MARKS = {"fails": "✗", "noted": "!", "works": "✓", "not checked": "?"}
KINDS: dict[Health, Kind] = {
    "fails": "error",
    "noted": "warning",
    "works": "passed",
    "not checked": "not-checked",
}
COLOURS = {"fails": SERIES[1], "noted": SERIES[3], "works": SERIES[2]}

Looks = tuple[Diagnosis, ...]


class DoctorView(View[Looks]):
    """A machine and its packages.

    Examples
    --------
    >>> from ftlab.records.diagnosis import Diagnosis, Health
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

    def _table(self, summary: Looks) -> Rows:
        """Give each look a row."""
        return [asdict(each) for each in summary]

    def _text(self, summary: Looks) -> str:
        return "\n".join([self.headline(), *(_line(e) for e in _ordered(summary))])

    def _make_widget(self) -> Any:
        import ipywidgets

        entries = map(_entry, _ordered(self.summary))
        page = entries_html(self.headline(), ok=self.ok, entries=entries)
        return ipywidgets.HTML(page)

    def draw_on(self, figure: Canvas, summary: Looks) -> None:
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


def _entry(each: Diagnosis) -> Entry:
    details = (("do", each.fix), ("source", each.source))
    return Entry(KINDS[each.health], each.what, each.says, details)
