"""Ids and labels that no token stands for, in sentences."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.token_row import IGNORED, TokenRow


def unknown_remarks(
    rows: Sequence[TokenRow], unknown: Collection[int]
) -> Iterator[str]:
    """Yield a sentence about ids, and one about labels, with the first place.

    Parameters
    ----------
    unknown
        Ids that the tokenizer does not have.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.unknown_ids import unknown_remarks
    >>> from ftlab.records.token_row import TokenRow
    >>> rows = [TokenRow(np.array([1, 99]), source="sample 0")]
    >>> list(unknown_remarks(rows, {99}))
    ['id 99 is not in the tokenizer: token 1 of sample 0']
    """
    lacking = np.array(sorted(unknown), np.int64)
    ids = [(row, row.ids, np.isin(row.ids, lacking)) for row in rows]
    yield from _first("id", ids, "is not in the tokenizer")
    labelled = [(row, row.labels) for row in rows if row.labels is not None]
    labels = [
        (row, values, np.isin(values, lacking) & (values != IGNORED))
        for row, values in labelled
    ]
    yield from _first("label", labels, f"is neither a token nor {IGNORED}")


def _first(
    what: str,
    columns: Sequence[tuple[TokenRow, NDArray[np.int64], NDArray[np.bool_]]],
    said: str,
) -> Iterator[str]:
    count = sum(int(found.sum()) for _, _, found in columns)
    for row, values, found in columns:
        if found.any():
            at = int(found.argmax())
            more = f", and {count - 1:,} more" if count > 1 else ""
            yield f"{what} {values[at]} {said}: token {at} of {row.source}{more}"
            return
