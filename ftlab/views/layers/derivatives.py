"""Derivatives by backward and by values, input by input."""

from dataclasses import asdict
from typing import Any

from ftlab.records.derivative import Derivative, Derivatives
from ftlab.views.drawn import Canvas
from ftlab.views.findings.entries_html import Entry, Kind, entries_html
from ftlab.views.style import SERIES
from ftlab.views.view import Rows, View


class DerivativesView(View[Derivatives]):
    """Which derivatives agree with the values of their function, and why not.

    Examples
    --------
    >>> from ftlab.records.derivative import Derivative, Derivatives
    >>> from ftlab.views.layers.derivatives import DerivativesView
    >>> DerivativesView(Derivatives("gelu", (Derivative("input 0", "agrees", 9),)))
    Gradient check of gelu: 1 of 1 agree
    """

    title = "Gradient check"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.summary.ok

    def headline(self) -> str:
        """Say how many are wrong."""
        it = self.summary
        states = [each.state for each in it.each]
        if it.remarks:
            told = "not checked"
        elif wrong := states.count("wrong"):
            told = f"{wrong} of {len(states)} wrong"
        else:
            told = f"{states.count('agrees')} of {len(states)} agree"
        return f"Gradient check of {it.function}: {told}"

    def _table(self, summary: Derivatives) -> Rows:
        """Give each input and parameter a row."""
        return [asdict(each) for each in summary.each]

    def _text(self, summary: Derivatives) -> str:
        lines = [self.headline(), *(f"  {each}" for each in summary.remarks)]
        for each in summary.each:
            if each.state in ("wrong", "not differentiable here"):
                lines += _lines(each)
        return "\n".join(lines)

    def _make_widget(self) -> Any:
        import ipywidgets

        it = self.summary
        page = entries_html(
            self.headline(), ok=it.ok, entries=map(_entry, it.each), notes=it.remarks
        )
        return ipywidgets.HTML(page)

    def draw_on(self, figure: Canvas, summary: Derivatives) -> None:
        """Draw the share of elements that are wrong, by input."""
        axis = figure.subplots()
        names = [each.name for each in summary.each]
        shares = [100 * e.wrong / max(e.elements, 1) for e in summary.each]
        axis.barh(range(len(names)), shares, color=SERIES[1])
        axis.set_yticks(range(len(names)), names, fontsize=7)
        axis.set_xlim(0, 100)
        axis.invert_yaxis()
        axis.set_xlabel("% of the elements wrong", fontsize=8)
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")


def _lines(each: Derivative) -> list[str]:
    return [f"  {each.name}: {each.reason}", f"    {_pair(each)}", f"    {each.fix}"]


def _pair(each: Derivative) -> str:
    """Write the pair of elements that differs most, with both values."""
    where = f"output {list(each.output)} by element {list(each.element)}"
    return f"{where}: backward {each.analytic:.4g}, values {each.numeric:.4g}"


def _entry(each: Derivative) -> Entry:
    if each.state in ("agrees", "not checked"):
        kind: Kind = "passed" if each.state == "agrees" else "not-checked"
        return Entry(kind, each.name, f"{each.state}, {each.elements} elements")
    details = (("measured", _pair(each)), ("do", each.fix))
    kind = "error" if each.state == "wrong" else "warning"
    return Entry(kind, each.name, each.reason, details)
