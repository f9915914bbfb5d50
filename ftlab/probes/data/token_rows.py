"""What is wrong with rows that hold tokens already."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.row_parts import RowFault

IGNORED = -100
"""The label that no loss counts."""

PICTURE = -200
"""What LLaVA writes where a picture goes."""

BESIDE = ("attention_mask", "token_type_ids", "position_ids", "completion_mask")
"""Columns with one value for each token."""


def token_faults(row: Mapping[str, Any], size: int = 0) -> Iterator[RowFault]:
    """Yield what is wrong with a row of tokens.

    Parameters
    ----------
    size
        Of the vocabulary; 0 where nobody knows.

    Examples
    --------
    >>> from ftlab.probes.data.token_rows import token_faults
    >>> row = {"input_ids": [1, 2, 3], "labels": [-100, -100, -100]}
    >>> list(token_faults(row))
    [('nothing-in-labels', 'labels', 'all 3 are -100')]
    """
    ids, labels = _listed(row["input_ids"]), _listed(row.get("labels"))
    if labels and labels.count(IGNORED) == len(labels):
        yield "nothing-in-labels", "labels", f"all {len(labels):,} are {IGNORED}"
    if not ids or set(map(type, ids)) != {int}:  # a picture's rows, or several texts
        return
    low, high = min(ids), max(ids)
    if size and high >= size:
        says = f"{high:,}, of a vocabulary of {size:,}"
        yield "id-beyond-vocabulary", f"input_ids[{ids.index(high)}]", says
    elif low < 0 and low != PICTURE:
        yield "id-beyond-vocabulary", f"input_ids[{ids.index(low)}]", f"{low:,}"
    for name in BESIDE:
        beside = _listed(row.get(name))
        if not beside or isinstance(beside[0], list):  # a table, for packed rows
            continue
        if len(beside) != len(ids):
            says = f"{len(beside):,} values for {len(ids):,} tokens"
            yield "lengths-disagree", name, says
            return


def _listed(value: Any) -> list[Any] | None:
    """Return the values of a row; ``None`` for what holds no list."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, list | tuple) else None
