"""What a scan of a dataset has left in a run, and the rules that judge it.

A rule of this form has kinds of faults, each with its words and the shares of rows that
decide how much it matters; one finding is made of each kind.
"""

from collections.abc import Iterator
from typing import ClassVar

from ftlab.records.data_scan import DataIssue, Spot
from ftlab.records.scanned_rows import ScannedRows
from ftlab.rules.reading.row_kind import Kind, percent
from ftlab.rules.rule import Finding, Need, Place, Rule, Run, to_runs_with

NEEDS = Need(
    "a look at the rows of the dataset",
    "ftlab.data(dataset, tokenizer), or ftlab.preflight(..., dataset=dataset)",
    lambda run: any(event.kind == "dataset" for event in run.whole.events),
)


def scanned_rows(run: Run) -> ScannedRows | None:
    """Return what the last scan has found; ``None`` where there was none."""
    events = [each for each in run.whole.events if each.kind == "dataset"]
    return ScannedRows.from_json(events[-1].detail) if events else None


class RowRule(Rule):
    """Finds rows of a dataset that have some kinds of faults.

    Attributes
    ----------
    kinds
        The kinds of faults, each a finding of its own.
    """

    requires = NEEDS
    kinds: ClassVar[tuple[Kind, ...]]
    applies = to_runs_with(NEEDS.present)

    def issues(self, known: ScannedRows) -> Iterator[tuple[Kind, DataIssue]]:
        """Yield what the scan has found of each kind."""
        for kind in self.kinds:
            issue = kind.issue(self.code, known)
            if issue is not None:
                yield kind, issue

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield a finding for each kind."""
        known = scanned_rows(run)
        if known is None:
            return
        for kind, issue in self.issues(known):
            yield self.finding(
                issue.severity,
                issue.message,
                cause=issue.cause,
                fix=issue.fix,
                places=[place_of(spot) for spot in issue.spots],
                steps=(-1, -1),
                reason=kind.name,
                evidence={
                    "rows": issue.rows,
                    "share": issue.share,
                    "threshold": kind.warns_from,
                },
                healthy=f"below {percent(kind.warns_from)} of the rows"
                if 0 < kind.warns_from <= 1
                else "no such row",
            )


def place_of(spot: Spot) -> Place:
    """Return where a spot is: its row, column and character, without commas.

    Where several places stand in one line, commas are between them.

    Examples
    --------
    >>> from ftlab.records.data_scan import Spot
    >>> from ftlab.rules.reading.dataset import place_of
    >>> str(place_of(Spot(40, "line 41", "messages[1].content", 3)))
    'data line 41 messages[1].content character 3'
    """
    words = [spot.place, *([spot.column] if spot.column else [])]
    words += [f"character {spot.char}"] if spot.char >= 0 else []
    return Place("data", " ".join(words))
