"""Arrow arrays of numbers, texts and lists, and back, by way of their buffers.

``pa.array`` and ``to_numpy`` load pandas when they are first called: 0.3 s and 47 MB
(pyarrow 25, pandas 3) that a training without pandas would pay with its first commit.
"""

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_DTYPES = {
    pa.float32(): np.float32,
    pa.float64(): np.float64,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.bool_(): np.bool_,
}


def array_of(values: NDArray[Any], known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an array of numbers or booleans, null where they are not known.

    Its memory is that of ``values``, where it can be.
    """
    if values.dtype == np.bool_:
        data, kind = _bits(values), pa.bool_()
    else:
        data, kind = values, pa.from_numpy_dtype(values.dtype)
    buffers = [_valid(known), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def float_arrays(columns: Sequence[Sequence[float | None]]) -> list[pa.Array]:
    """Return an array of float64 for each column, null where there is `None`."""
    if not columns:
        return []
    data, arrays = np.array(columns, np.float64), []  # None is NaN in it
    strange = [bool(np.isnan(values).any()) for values in data]
    for values, column, some in zip(data, columns, strange, strict=True):
        known = np.array([each is not None for each in column]) if some else None
        buffers = [_valid(known), pa.py_buffer(values)]
        arrays.append(pa.Array.from_buffers(pa.float64(), len(values), buffers))
    return arrays


def plain_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return an array of plain values of one Arrow type, null where they are `None`."""
    known = np.fromiter((each is not None for each in values), np.bool_, len(values))
    if pa.types.is_string(kind):
        texts = [b"" if each is None else each.encode() for each in values]
        parts = [_starts(texts), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(kind, len(values), [_valid(known), *parts])
    if pa.types.is_list(kind):
        lists = [() if each is None else each for each in values]
        inner = plain_array(list(chain.from_iterable(lists)), kind.value_type)
        buffers = [_valid(known), _starts(lists)]
        return pa.Array.from_buffers(kind, len(values), buffers, children=[inner])
    plain = [0 if each is None else each for each in values]
    return array_of(np.array(plain, _DTYPES[kind]), known)


def values_of(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column; what is null is NaN, and integers floats then."""
    if column.type not in _DTYPES:
        other: NDArray[Any] = column.to_numpy()
        return other
    data = _joined(column, 1, _DTYPES[column.type])
    if column.null_count:
        wide = data.dtype if data.dtype.kind == "f" else np.float64
        return np.where(valid_of(column), data, np.array(np.nan, wide))
    return data


def lists_of(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return how long the lists of a column are, 0 where null, and their numbers."""
    chunks = [each for each in column.chunks if len(each)]
    ends = [each.offsets for each in chunks]
    sizes = [np.diff(_part(each, each.buffers()[1], np.int32)) for each in ends]
    inside = pa.chunked_array([e.flatten() for e in chunks], column.type.value_type)
    lengths = np.concatenate([np.empty(0, np.int64), *sizes])
    return lengths * valid_of(column), values_of(inside)


def valid_of(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Tell which values of a column are not null."""
    return _joined(column, 0, np.bool_)


def _joined(
    column: pa.ChunkedArray, which: int, dtype: type[np.generic]
) -> NDArray[Any]:
    parts = [_part(each, each.buffers()[which], dtype) for each in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


def _part(
    array: pa.Array, buffer: pa.Buffer | None, dtype: type[np.generic]
) -> NDArray[Any]:
    """Read one buffer of an array; all is valid where no buffer says so."""
    size, start = len(array), array.offset
    if buffer is None or not size:
        return np.ones(size, dtype)
    if dtype is np.bool_:
        packed = np.frombuffer(buffer, np.uint8)
        bits = np.unpackbits(packed, count=start + size, bitorder="little")
        return bits[start:].astype(np.bool_)
    return np.frombuffer(buffer, dtype, start + size)[start:]


def _starts(parts: Sequence[Any]) -> pa.Buffer:
    """Tell where each part begins, and where the last one ends."""
    starts = accumulate(map(len, parts), initial=0)
    return pa.py_buffer(np.fromiter(starts, np.int32, len(parts) + 1))


def _valid(known: NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if known is None or known.all() else pa.py_buffer(_bits(known))


def _bits(values: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(values, bitorder="little")
