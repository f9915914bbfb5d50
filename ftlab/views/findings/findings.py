"""The findings view: what is wrong, why, and what to do."""

import textwrap
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Protocol, overload

from ftlab.records.chains import chain_lines
from ftlab.records.finding import Finding, NotChecked
from ftlab.records.ranking import ranked
from ftlab.views.drawn import Canvas
from ftlab.views.findings.findings_html import findings_html
from ftlab.views.findings.findings_words import (
    FindingsSummary,
    counted,
    said,
    unchecked_words,
)
from ftlab.views.style import SEVERITY, count
from ftlab.views.view import Rows, View

MOST_DRAWN = 5
REPEAT_SECONDS = 5.0
WIDTH = 104
DRAWN = ("why", "first", "do", "where")
"""What the picture says of a finding, below its first line."""


class HasFindings(Protocol):
    """A run, or anything else that has findings."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Findings in any order."""


class FindingsView(View[FindingsSummary], Sequence[Finding]):
    """Findings, worst first: what is wrong, why, what to do, and where.

    It is a sequence of `Finding`: it has a length, is true when there is one, and can
    be looped over and indexed.

    Parameters
    ----------
    run
        Anything with ``findings``.
    not_checked
        Rules that could not decide, or a function that returns them.

    Examples
    --------
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.findings.findings import FindingsView
    >>> view = FindingsView(Run())
    >>> len(view), bool(view), view
    (0, False, Findings: none)
    """

    title = "Findings"
    headings = (
        "code",
        "name",
        "severity",
        "first_step",
        "last_step",
        "place",
        "message",
        "cause",
        "fix",
        "rank",
        "follows",
    )

    def __init__(
        self,
        run: HasFindings,
        not_checked: Sequence[NotChecked] | Callable[[], Sequence[NotChecked]] = (),
    ) -> None:
        super().__init__()
        self._run = run
        self._not_checked = not_checked
        self._shown: Hashable = None
        self._repeat_at = 0.0

    def __len__(self) -> int:
        return len(self.summary.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.summary.findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self.summary.findings[index]

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        """Rules that could not decide, with what to record next time."""
        return self.summary.not_checked

    def _adopt(self, run: HasFindings) -> None:
        self._run = run

    def _stamp(self) -> Hashable:
        found = tuple(
            (one.key, one.last_step, one.message, one.follows)
            for one in self._run.findings
        )
        open_ = self._open()
        return found, tuple((one.code, one.reason) for one in open_)

    def _open(self) -> Sequence[NotChecked]:
        given = self._not_checked
        return given() if callable(given) else given

    def _summarise(self) -> FindingsSummary:
        return FindingsSummary(ranked(self._run.findings), tuple(self._open()))

    def _make_widget(self) -> Any:
        import ipywidgets

        widget = ipywidgets.HTML(findings_html(self.summary))
        widget.add_class("ftlab-findings")
        return widget

    def _refresh_widget(self, widget: Any) -> None:
        summary = self.summary
        shown = tuple((one.key, one.severity) for one in summary.findings)
        # A finding that goes on changes its last step all the time; to replace the
        # page as often would fold what the reader has just unfolded.
        if shown == self._shown and time.monotonic() < self._repeat_at:
            return
        self._shown, self._repeat_at = shown, time.monotonic() + REPEAT_SECONDS
        value = findings_html(summary)
        if value != widget.value:
            widget.value = value

    def settle(self) -> None:
        """Show the last text of every finding."""
        self._repeat_at = 0.0
        super().settle()

    def _table(self, summary: FindingsSummary) -> Rows:
        return [
            (
                one.code,
                one.name,
                one.severity.label,
                one.first_step,
                one.last_step,
                str(one.place) if one.places else "",
                one.message,
                one.cause,
                one.fix,
                one.rank,
                one.follows,
            )
            for one in summary.findings
        ]

    def _text(self, summary: FindingsSummary) -> str:
        if not summary.findings:
            return "\n".join(["Findings: none", *_unchecked(summary)])
        lines = [f"Findings: {counted(summary.findings)}"]
        lines += [f"  {line}" for line in chain_lines(summary.findings)]
        for one in summary.findings:
            lines += ["", f"{one.severity.label.upper()} {one.code} {one.name}"]
            for word, text in said(one):
                text = f"a healthy run: {text}" if word == "else" else text
                lines += textwrap.wrap(
                    text,
                    WIDTH,
                    initial_indent=f"  {word:<6} ",
                    subsequent_indent=" " * 9,
                )
        return "\n".join([*lines, *_unchecked(summary)])

    def size_of(self, summary: FindingsSummary) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 0.35 + 0.19 * len(_drawn(summary))

    def draw_on(self, figure: Canvas, summary: FindingsSummary) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        lines = _drawn(summary)
        axes = figure.add_subplot()
        axes.set_axis_off()
        for index, (text, colour, weight) in enumerate(lines):
            where = 0.012, 1 - (index + 0.8) / (len(lines) + 0.6)
            # a dollar sign would be taken for mathematics
            shown = text.replace("$", r"\$")
            axes.text(*where, shown, color=colour, fontweight=weight, fontsize=8.5)


def _unchecked(summary: FindingsSummary) -> list[str]:
    if not summary.not_checked:
        return []
    lines = ["", f"Not checked: {count(len(summary.not_checked), 'rule')}"]
    for who, words in unchecked_words(summary.not_checked):
        lines += textwrap.wrap(
            f"{who}: {words}",
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
        )
    return lines


def _drawn(summary: FindingsSummary) -> list[tuple[str, str, str]]:
    """Return the lines of the picture as (text, colour, weight)."""
    if not summary.findings:
        lines = [("Findings: none", "#222222", "bold")]
    else:
        lines = [(f"Findings: {counted(summary.findings)}", "#222222", "bold")]
    for line in chain_lines(summary.findings):
        wrapped = textwrap.wrap(line, 124)
        lines += [(f"    {part}", "#333333", "normal") for part in wrapped]
    for one in summary.findings[:MOST_DRAWN]:
        head = f"{one.severity.label.upper()} {one.code}  {one.message}"
        colour = SEVERITY[one.severity.label]
        lines += [(line, colour, "bold") for line in textwrap.wrap(head, 112)]
        for word, text in said(one):
            if word not in DRAWN:
                continue
            wrapped = textwrap.wrap(f"{word}: {text}", 124)
            lines += [(f"    {line}", "#333333", "normal") for line in wrapped]
    hidden = len(summary.findings) - MOST_DRAWN
    if hidden > 0:
        lines.append((f"... and {hidden} more", "#333333", "normal"))
    if summary.not_checked:
        text = f"Not checked: {count(len(summary.not_checked), 'rule')}"
        lines.append((text, "#666666", "normal"))
    return lines
