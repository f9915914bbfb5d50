"""Columns of a batch as rows of numbers, from tensors, arrays or nested lists."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.errors import BadValueError

Numbers = NDArray[Any]
_NESTED = 3
"""How deep a batch may lie within another: ``{"inputs": {"input_ids": ...}}``."""


def flat_columns(batch: Any) -> dict[str, Any]:
    """Return the columns of a batch that may hold another one; the inner names win.

    Examples
    --------
    >>> from ftlab.probes.tokens.columns import flat_columns
    >>> flat_columns({"inputs": {"input_ids": [[1]]}, "labels": [[1]]})
    {'labels': [[1]], 'input_ids': [[1]]}
    """
    return _flat(batch, _NESTED)


def _flat(batch: Any, depth: int) -> dict[str, Any]:
    plain = {str(k): v for k, v in batch.items() if not isinstance(v, Mapping)}
    for value in batch.values():
        if isinstance(value, Mapping) and depth:
            plain |= _flat(value, depth - 1)
    return plain


def rows_of(value: Any) -> list[Numbers] | None:
    """Return one array per row; ``None`` for what are no numbers in rows.

    Examples
    --------
    >>> from ftlab.probes.tokens.columns import rows_of
    >>> [row.tolist() for row in rows_of([[1, 2], [3]])]
    [[1, 2], [3]]
    >>> [row.tolist() for row in rows_of([1, 2])]
    [[1, 2]]
    >>> rows_of("text") is None
    True
    """
    several = isinstance(value, list | tuple)
    if several and not len(value):
        return []
    whole = None if several and hasattr(value[0], "shape") else _array(value)
    if whole is not None and whole.dtype.kind in "iufb":
        return [whole] if whole.ndim == 1 else list(whole) if whole.ndim == 2 else None
    if not several and whole is not None:
        value = list(whole) if whole.dtype == object and whole.ndim == 1 else None
    unbind = getattr(value, "unbind", None)
    parts = unbind() if callable(unbind) else value
    if not isinstance(parts, list | tuple):
        return None
    rows = [_array(each) for each in parts]
    found = [r for r in rows if r is not None and r.ndim == 1]
    empty = [len(r) == 0 or r.dtype.kind in "iufb" for r in found]
    return found if len(found) == len(rows) and all(empty) else None


def _array(value: Any) -> Numbers | None:
    """Return an array, of a tensor after one copy to the host; ``None`` if ragged."""
    if getattr(value, "is_nested", False):
        return None
    detach = getattr(value, "detach", None)
    if getattr(value, "is_meta", False):
        msg = (
            "A tensor of the batch is on the device meta: it has a shape and no values."
        )
        raise BadValueError(msg)
    if callable(detach):
        value = detach().cpu().to_dense()
        value = value.float() if value.is_floating_point() else value
        return np.asarray(value.numpy())
    listed = getattr(value, "tolist", None)
    if callable(listed) and not isinstance(value, np.ndarray):
        value = listed()
    if isinstance(value, str | bytes) or value is None:
        return None
    try:
        return np.asarray(value)
    except ValueError:  # lists of unequal lengths
        return None


def ids_of(value: Any, name: str) -> list[NDArray[np.int64]]:
    """Return token ids in rows.

    Raises
    ------
    BadValueError
        They are no integers, or in more dimensions than rows and positions.

    Examples
    --------
    >>> from ftlab.probes.tokens.columns import ids_of
    >>> ids_of("text", "input_ids")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: input_ids is str; it must hold token ids in \
rows: shape (samples, length), or one list of ids per sample.
    """
    rows = rows_of(value)
    if rows is None or any(len(r) and r.dtype.kind not in "iub" for r in rows):
        msg = (
            f"{name} is {_described(value, rows)}; it must hold token ids in rows: "
            "shape (samples, length), or one list of ids per sample."
        )
        raise BadValueError(msg)
    return [row.astype(np.int64) for row in rows]


def _described(value: Any, rows: list[Numbers] | None) -> str:
    """Say what is wrong with a column: its numbers, its shape, or its type."""
    shape = tuple(getattr(value, "shape", ()))
    if rows is not None:
        return f"of {next(str(r.dtype) for r in rows if r.dtype.kind not in 'iub')}"
    return f"of the shape {shape}" if shape else type(value).__name__


def per_token(
    value: Any, ids: list[NDArray[np.int64]], *, shared: bool = False
) -> list[Numbers | None]:
    """Return one row per row of ids, ``None`` where the shape is another.

    Parameters
    ----------
    value, ids
        A column, and the ids that it goes with.
    shared
        Whether one row may stand for all of them. Of several kinds of positions (those
        of a picture's height and width) the first is taken.
    """
    shape = getattr(value, "shape", ())
    if len(shape) == 3 and tuple(shape[1:]) == (len(ids), len(ids[0]) if ids else 0):
        value = value[0]
    rows = rows_of(value) if value is not None else None
    if shared and rows is not None and len(rows) == 1 and not is_flat(value):
        rows = rows * len(ids)
    if rows is None or len(rows) != len(ids):
        return [None] * len(ids)
    return [
        row if len(row) == len(tokens) else None
        for row, tokens in zip(rows, ids, strict=True)
    ]


def is_flat(value: Any) -> bool:
    """Whether a column has one dimension."""
    if isinstance(value, list | tuple):
        return not value or not (
            isinstance(value[0], list | tuple) or len(getattr(value[0], "shape", ()))
        )
    return len(getattr(value, "shape", ())) == 1


def as_mask(row: Numbers | None) -> NDArray[np.int64] | None:
    """Return a mask as whole numbers: 0 for what is not attended to."""
    if row is None:
        return None
    return row.astype(np.int64) if row.dtype.kind in "iu" else (row != 0).astype(int)


def said_shape(value: Any) -> str:
    """Return ``" of shape (2, 3)"``, or nothing for what has no shape."""
    shape = tuple(getattr(value, "shape", ()))
    return f" of shape {tuple(map(int, shape))}" if shape else ""


def is_table(value: Any) -> bool:
    """Whether a tensor or array is a table of whole numbers: ids without a name.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.columns import is_table
    >>> is_table(np.array([[5, 6]])), is_table([[5, 6]]), is_table(np.ones((1, 2)))
    (True, False, False)
    """
    whole = "int" in str(getattr(value, "dtype", ""))
    return whole and len(getattr(value, "shape", ())) == 2
