"""What is wrong with rows that hold tokens already."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.rows.parts import RowFault
from ftlab.probes.data.rows.plain import plain

IGNORED = -100
"""The label that no loss counts."""

PICTURE = -200
"""What LLaVA writes where a picture goes."""

PADDED = 2
"""Labels of places that are not attended to: one may be an end that is learnt."""

FEWEST = 3
"""Labels that differ from the token at their place where labels are shifted."""

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
    >>> from ftlab.probes.data.rows.token_rows import token_faults
    >>> row = {"input_ids": [1, 2, 3], "labels": [-100, -100, -100]}
    >>> list(token_faults(row))
    [('nothing-in-labels', 'labels', 'all 3 are -100')]
    """
    ids, labels = _listed(row["input_ids"]), _listed(row.get("labels"))
    if labels and labels.count(IGNORED) == len(labels):
        yield "nothing-in-labels", "labels", f"all {len(labels):,} are {IGNORED}"
    if not ids or set(map(type, ids)) != {int}:  # a picture's rows, or several texts
        return
    if labels and len(labels) == len(ids) and _are_shifted(labels, ids):
        yield "labels-shifted", "labels", "labels[i] is input_ids[i + 1] throughout"
    mask = _listed(row.get("attention_mask"))
    if labels and mask and 0 in mask and len(labels) == len(ids) == len(mask):
        yield from _padding(labels, mask)
    low, high = min(ids), max(ids)
    if size and high >= size:
        says = f"{high:,}, of a vocabulary of {size:,}"
        yield "id-beyond-vocabulary", f"input_ids[{ids.index(high)}]", says
    elif low < 0 and low != PICTURE:
        yield "id-beyond-vocabulary", f"input_ids[{ids.index(low)}]", f"{low:,}"
    yield from _beside(row, len(ids))


def _padding(labels: list[Any], mask: list[Any]) -> Iterator[RowFault]:
    """Yield labels of places that are not attended to."""
    trained = [
        at for at, held in enumerate(mask) if held == 0 and labels[at] != IGNORED
    ]
    if len(trained) >= PADDED:
        says = f"{len(trained):,} labels where attention_mask is 0"
        yield "padding-in-labels", f"labels[{trained[0]}]", says


def _beside(row: Mapping[str, Any], count: int) -> Iterator[RowFault]:
    """Yield the first column that has not one value for each token."""
    for name in BESIDE:
        beside = _listed(row.get(name))
        if not beside or isinstance(beside[0], list):  # a table, for packed rows
            continue
        if len(beside) != count:
            says = f"{len(beside):,} values for {count:,} tokens"
            yield "lengths-disagree", name, says
            return


def _are_shifted(labels: list[Any], ids: list[int]) -> bool:
    """Tell whether each label is the token behind its place, and not its own."""
    last = len(ids) - 2
    while last >= 0 and labels[last] == IGNORED:
        last -= 1
    if last < 0 or labels[last] != ids[last + 1]:  # nearly always seen here
        return False
    trained = [at for at in range(last + 1) if labels[at] != IGNORED]
    follow = all(labels[at] == ids[at + 1] for at in trained)
    return follow and sum(labels[at] != ids[at] for at in trained) >= FEWEST


def _listed(value: Any) -> list[Any] | None:
    """Return the values of a row; ``None`` for what holds no list."""
    value = plain(value)
    return list(value) if isinstance(value, list | tuple) else None
