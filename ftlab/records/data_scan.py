"""What a look at every row of a dataset has found."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.finding import Severity


@dataclass(frozen=True, slots=True)
class Spot:
    r"""One place of a dataset.

    Attributes
    ----------
    row
        Number of the row, from 0, counted over all files.
    place
        The same as a reader finds it: ``"line 41"``, ``"row 40 of b.parquet"``.
    column
        Whose value it is: ``"messages[1].content"``; ``""`` for the whole row.
    char
        Number of the character within the value, from 0; -1 for the whole value.
    says
        What is there.
    excerpt
        The text around it, with escapes for what cannot be seen.

    Examples
    --------
    >>> from ftlab.records.data_scan import Spot
    >>> Spot(40, "line 41", "text", 3, "U+200B", "zero\\u200bwidth")
    line 41, text, character 3: U+200B: 'zero\u200bwidth'
    """

    row: int
    place: str
    column: str = ""
    char: int = -1
    says: str = ""
    excerpt: str = ""

    def __repr__(self) -> str:
        place = [self.place, *([self.column] if self.column else [])]
        place += [f"character {self.char}"] if self.char >= 0 else []
        shown = f"'{self.excerpt}'" if self.excerpt else ""
        return ": ".join(filter(None, (", ".join(place), self.says, shown)))


@dataclass(frozen=True, slots=True)
class DataIssue:
    """One kind of fault, wherever it is in the dataset.

    Attributes
    ----------
    name
        Of the kind: ``"empty-answer"``; `ftlab.explain` takes the code.
    rows, share
        How many rows have it, and of how many that is the share.
    message
        One line with the numbers.
    spots
        The first places, in the order of the rows.
    left_out
        Whether a filtered copy leaves such rows out unless something else is asked.
    code
        Of the rule that the kind belongs to: ``"DAT058"``.
    """

    name: str
    severity: Severity
    rows: int
    share: float
    message: str
    cause: str
    fix: str
    spots: tuple[Spot, ...]
    left_out: bool = False
    code: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the issue as values that JSON can hold."""
        return asdict(self) | {"severity": self.severity.label}


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the rows are.

    Attributes
    ----------
    unit
        ``"tokens"``; ``"characters"`` without a tokenizer.
    sizes, rows
        The lengths that occur, ascending, and how many rows have each.
    total
        Sum over all rows.
    limit, limit_from
        Where a training cuts rows off, and who says so; 0 and ``""`` if nobody does.
    template
        Whether the chat template's own tokens are counted in.
    error
        Largest difference to what the template itself renders, in tokens, of the rows
        that were rendered to see; -1 where none was.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.data_scan import Lengths
    >>> lengths = Lengths("tokens", np.array([3, 9]), np.array([1, 3]), 30, limit=8)
    >>> lengths.quantile(0.5), lengths.longest, lengths.above, lengths.cut
    (9, 9, 3, 3)
    """

    unit: str
    sizes: NDArray[np.int64]
    rows: NDArray[np.int64]
    total: int
    limit: int = 0
    limit_from: str = ""
    template: bool = False
    error: int = -1

    def quantile(self, share: float) -> int:
        """Return the length that this share of the rows does not exceed."""
        if not len(self.sizes):
            return 0
        known = np.cumsum(self.rows)
        at = int(np.searchsorted(known, share * known[-1]))
        return int(self.sizes[min(at, len(self.sizes) - 1)])

    @property
    def longest(self) -> int:
        """Length of the longest row."""
        return int(self.sizes[-1]) if len(self.sizes) else 0

    @property
    def above(self) -> int:
        """Rows that are longer than the limit."""
        return int(self.rows[self.sizes > self.limit].sum()) if self.limit else 0

    @property
    def cut(self) -> int:
        """Tokens behind the limit, of all rows."""
        if not self.limit:
            return 0
        over = np.maximum(self.sizes - self.limit, 0)
        return int((over * self.rows).sum())


@dataclass(frozen=True, slots=True)
class NearPass:
    """The search for rows that are almost the same.

    Attributes
    ----------
    rows
        How many were compared; rows that repeat another one exactly are not.
    candidates
        Pairs that MinHash took for similar, and that were then compared for real.
    pairs
        Of them, those that are similar.
    threshold
        Jaccard similarity from which on they are.
    seconds
        What it took.
    """

    rows: int
    candidates: int
    pairs: int
    threshold: float
    seconds: float

    @property
    def speed(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class DataScan:
    """All that is known of a dataset.

    Attributes
    ----------
    name
        Of the dataset, or of its file.
    rows
        How many were looked at, those that cannot be read included.
    formats
        By kind of row, how many there are: ``"messages"``, ``"prompt and answer"``,
        ``"preference"``, ``"text"``, ``"tokens"``, ``"prompt"``.
    roles
        By role, how many messages there are.
    issues
        Worst first.
    not_checked
        What could not be looked for, with what to do about it.
    complete
        Whether all rows were looked at; ``False`` after an interrupt.
    stopped
        Whether Ctrl-C ended the comparing, or the reading of the evaluation data;
        ``not_checked`` says what is left.
    changed
        Files that changed while they were read: what was found may be of no state of
        theirs.
    seconds
        What the scan took, the search for similar rows left out.
    """

    name: str
    rows: int
    formats: Mapping[str, int]
    roles: Mapping[str, int]
    issues: tuple[DataIssue, ...]
    lengths: Lengths
    near: NearPass | None = None
    not_checked: tuple[str, ...] = ()
    complete: bool = True
    seconds: float = 0.0
    stopped: bool = False
    changed: tuple[str, ...] = ()

    @property
    def worst(self) -> Severity | None:
        """The highest severity; ``None`` where nothing was found."""
        return max((issue.severity for issue in self.issues), default=None)
