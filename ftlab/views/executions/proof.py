"""A proof: what must hold, and whether it does."""

import html
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, overload

from ftlab.records.errors import UnknownNameError
from ftlab.records.finding import Finding
from ftlab.records.near import near
from ftlab.records.outcome import Outcome, State
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.executions.difference import DifferenceView
from ftlab.views.findings.checklist_html import style_sheet
from ftlab.views.style import SEVERITY
from ftlab.views.view import View

WIDTH = 100
ORDER: tuple[State, ...] = ("broken", "holds", "cannot be decided", "does not apply")
"""What to look at first in front."""
MARKS: dict[State, tuple[str, str, str, str]] = {
    "broken": ("x", "✕", SEVERITY["error"], "error"),
    "holds": ("+", "✓", "#00795a", "passed"),
    "cannot be decided": ("?", "?", "#666666", "not-checked"),
    "does not apply": ("-", "·", "#666666", "not-checked"),
}
"""Marks of the text and of the others, colour, and class in the style sheet."""


class ProofView(View[tuple[Outcome, ...]], Sequence[Outcome]):
    """Relations that must hold in every right set-up, and how each came out.

    A sequence of `Outcome` in the order in which they were tried; a name or code in
    brackets gives one.

    Examples
    --------
    >>> from ftlab.records.outcome import Outcome
    >>> from ftlab.views.executions.proof import ProofView
    >>> made = Outcome("EXP001", "row-alone", "a row is the same", "holds", "1.1 x")
    >>> ProofView([made])
    Proof: 1 holds
    + row-alone: 1.1 x
    """

    title = "Proof"

    def __init__(self, outcomes: Sequence[Outcome], *, title: str = "Proof") -> None:
        super().__init__()
        self._outcomes = tuple(outcomes)
        self._name = title

    @property
    def ok(self) -> bool:
        """Whether nothing is broken; what was not decided may still be."""
        return not self.broken

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The relations that do not hold."""
        return tuple(each for each in self._outcomes if each.state == "broken")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for each broken relation."""
        return tuple(f for each in self._outcomes if (f := each.finding) is not None)

    def diff(self, name: str) -> DifferenceView:
        """Return where the two executions of an experiment part.

        Raises
        ------
        UnknownNameError
            There is no such experiment, or it compares no modules.
        """
        found = self[name].differences
        if found is None:
            have = [
                each.name for each in self._outcomes if each.differences is not None
            ]
            msg = f"{name} compares no modules; {near(name, have)}."
            raise UnknownNameError(msg)
        return DifferenceView(found)

    def headline(self) -> str:
        """Count what holds and what does not."""
        counts = [
            (sum(each.state == state for each in self._outcomes), state)
            for state in ORDER
        ]
        words = {"holds": "hold", "does not apply": "do not apply"}
        said = [
            f"{many} {state if many == 1 or state not in words else words[state]}"
            for many, state in counts
            if many
        ]
        return ", ".join(said) or "nothing was tried"

    def __len__(self) -> int:
        return len(self._outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._outcomes)

    @overload
    def __getitem__(self, index: int | str) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome]: ...
    def __getitem__(self, index: int | str | slice) -> Outcome | Sequence[Outcome]:
        if not isinstance(index, str):
            return self._outcomes[index]
        found = next((e for e in self._outcomes if index in (e.name, e.code)), None)
        if found is None:
            names = [each.name for each in self._outcomes]
            msg = f"There is no experiment {index!r}; {near(index, names)}."
            raise UnknownNameError(msg)
        return found

    def _summarise(self) -> tuple[Outcome, ...]:
        return tuple(sorted(self._outcomes, key=lambda each: ORDER.index(each.state)))

    def _table(self, summary: tuple[Outcome, ...]) -> DataFrame:
        import pandas as pd

        columns = ["code", "name", "state", "says", "relation", "cause", "fix"]
        rows = [tuple(getattr(each, name) for name in columns) for each in summary]
        return pd.DataFrame(rows, columns=columns)

    def _text(self, summary: tuple[Outcome, ...]) -> str:
        return "\n".join(
            text for text, _ in _lines(self._name, self.headline(), summary)
        )

    def size_of(self, summary: tuple[Outcome, ...]) -> tuple[float, float]:
        """Give each line of the text its room."""
        lines = _lines(self._name, self.headline(), summary)
        return 9.0, 0.35 + 0.2 * len(lines)

    def draw_on(self, figure: Canvas, summary: tuple[Outcome, ...]) -> None:
        """Write the lines, coloured by how each came out."""
        lines = _lines(self._name, self.headline(), summary)
        axes = figure.add_subplot()
        axes.set_axis_off()
        for index, (text, state) in enumerate(lines):
            height = 1 - (index + 0.8) / (len(lines) + 0.6)
            colour = "#222222" if state is None else MARKS[state][2]
            weight = "bold" if state in (None, "broken") else "normal"
            shown = text.replace("$", r"\$")
            axes.text(
                0.01, height, shown, color=colour, fontweight=weight, fontsize=8.5
            )

    def _make_widget(self) -> Any:
        import ipywidgets

        rows = "".join(map(_row, self.summary))
        kind = "passed" if self.ok else "error"
        widget = ipywidgets.HTML(
            f'<style>{style_sheet()}</style><div class="ftlab-c ftlab-c-named">'
            f'<div class="ftlab-c-head ftlab-c-{kind}">'
            f"<b>{html.escape(self.headline())}</b>"
            f"<span>{html.escape(self._name)}</span></div>{rows}</div>"
        )
        widget.add_class("ftlab-checklist")
        return widget


def _lines(
    name: str, headline: str, outcomes: Sequence[Outcome]
) -> list[tuple[str, State | None]]:
    lines: list[tuple[str, State | None]] = [(f"{name}: {headline}", None)]
    for each in outcomes:
        head = f"{MARKS[each.state][0]} {each.name}"
        silent = each.state in ("holds", "broken")
        state = "" if silent else f" {each.state}"
        lines += [
            (line, each.state)
            for line in textwrap.wrap(
                f"{head}{state}: {each.says}", WIDTH, subsequent_indent="    "
            )
        ]
        for word, text in (("because", each.cause), ("try", each.fix)):
            if text:
                wrapped = textwrap.wrap(
                    f"{word}: {text}",
                    WIDTH,
                    initial_indent="    ",
                    subsequent_indent="      ",
                )
                lines += [(line, None) for line in wrapped]
    return lines


def _row(outcome: Outcome) -> str:
    _, mark, _, kind = MARKS[outcome.state]
    rows = [("must hold", outcome.relation), ("came out", outcome.state)]
    rows += [("because", outcome.cause), ("do this", outcome.fix)]
    shown = "".join(
        f"<dt>{word}</dt><dd>{html.escape(text)}</dd>" for word, text in rows if text
    )
    opened = " open" if outcome.state == "broken" else ""
    return (
        f'<details class="ftlab-c-{kind}"{opened}><summary>'
        f'<i class="ftlab-c-mark" title="{outcome.state}">{mark}</i>'
        f'<b class="ftlab-c-layer">{html.escape(outcome.name)}</b>'
        f'<span class="ftlab-c-says">{html.escape(outcome.says)}</span></summary>'
        f"<div><dl>{shown}</dl></div></details>"
    )
