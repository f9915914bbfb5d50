"""One kind of fault that rows of a dataset can have, and how much it matters."""

from dataclasses import dataclass

from ftlab.records.data_scan import DataIssue
from ftlab.records.finding import Severity
from ftlab.records.scanned_rows import FoundRows, ScannedRows

NEVER = 2.0
"""A share of rows that is never reached."""

ALWAYS = 0.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault.

    Attributes
    ----------
    name
        In kebab case, as tables and the command line show it.
    says
        What such rows have; their number stands behind it.
    warns_from
        Share of the rows from which on it is a warning; below it is a note.
    meant_above
        Share above which it is taken for what was meant, and not told.
    left_out
        Whether a filtered copy leaves such rows out.
    severity
        The highest one that it gets.
    among
        Formats of rows that can have it; empty for all.
    """

    name: str
    says: str
    cause: str
    fix: str
    warns_from: float = 0.001
    meant_above: float = NEVER
    left_out: bool = False
    severity: Severity = Severity.WARNING
    among: tuple[str, ...] = ()

    def judge(self, share: float) -> Severity | None:
        """Return how much it matters in this share of rows; ``None`` where it is meant.

        Examples
        --------
        >>> from ftlab.rules.reading.row_kind import Kind
        >>> kind = Kind("odd", "odd rows", "A slip.", "Mend it.", 0.01, 0.5)
        >>> kind.judge(0.001).label, kind.judge(0.02).label, kind.judge(0.8)
        ('info', 'warning', None)
        """
        if share > self.meant_above:
            return None
        return self.severity if share >= self.warns_from else Severity.INFO

    def issue(self, code: str, known: ScannedRows) -> DataIssue | None:
        """Judge what a scan has found of this kind; ``None`` where that is nothing.

        Parameters
        ----------
        code
            Of the rule that the kind belongs to.
        """
        found = known.get(self.name)
        if found is None:
            return None
        share = found.rows / max(known.rows, 1)
        message = f"{self.says}: {found.rows:,} of {known.rows:,} rows"
        message += f" ({percent(share)})"
        if found.held:
            held, total = found.held
            share = held / max(total, 1)
            message += f"; {held:,} of {total:,} rows of the evaluation data"
            message += f" ({percent(share)})"
        severity = self.judge(self._share_of_those(found, known) or share)
        if severity is None:
            return None
        about = (found.rows, share, message, self.cause, self.fix, found.spots)
        return DataIssue(self.name, severity, *about, self.left_out, code)

    def _share_of_those(self, found: FoundRows, known: ScannedRows) -> float:
        """Return the share of the rows that can have it; 0 where all can."""
        among = sum(known.formats.get(each, 0) for each in self.among)
        return found.rows / among if among else 0.0


def percent(share: float) -> str:
    """Write a share with two digits.

    Examples
    --------
    >>> from ftlab.rules.reading.row_kind import percent
    >>> percent(0.3333), percent(0.00004), percent(1)
    ('33 %', '0.004 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
