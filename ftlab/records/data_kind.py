"""One kind of fault that rows of a dataset can have."""

from dataclasses import dataclass

from ftlab.records.finding import Severity

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
        >>> from ftlab.records.data_kinds import KINDS
        >>> KINDS["unfinished-answer"].judge(0.02).label
        'warning'
        >>> KINDS["unfinished-answer"].judge(0.8) is None
        True
        """
        if share > self.meant_above:
            return None
        return self.severity if share >= self.warns_from else Severity.INFO
