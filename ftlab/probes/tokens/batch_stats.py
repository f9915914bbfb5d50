"""What each row of a batch holds at most and at least: reduced on its device.

`reduced` queues some reductions of each field, which give a few numbers for each row;
`read` takes them apart when they have arrived.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.tensors.host import as_array
from ftlab.records.token_row import IGNORED

ROWS = 1024
"""Rows of a micro-batch that are looked at."""

_NOT_VALUES = ("mask", "bias", "weight", "label_smoothing")
"""In the names of fields of floats that may be infinite, or are no inputs."""

_TALL = 3
"""Dimensions of a tensor with one vector for each token."""


@dataclass(frozen=True, slots=True)
class FieldStats:
    """One field's numbers: one for each row that was looked at.

    Attributes
    ----------
    top, low
        The largest and the smallest value; NaN where one is. Of labels without those
        that are ignored.
    wide
        Whether a row holds more than one number.
    top_at, low_at
        Where they stand in the row; -1 where that was not looked for.
    further
        Of integers their sum; of labels how many count.
    """

    name: str
    whole: bool
    wide: bool
    top: NDArray[np.float32]
    low: NDArray[np.float32]
    top_at: NDArray[np.float32]
    low_at: NDArray[np.float32]
    further: NDArray[np.float32]


Layout = list[tuple[str, bool, bool, int]]
"""Of each field its name, whether it holds integers, and several in a row, its rows."""


def reduced(fields: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, Layout]:
    """Queue the reductions; one float32 vector on the device of the first field."""
    parts, layout = [], []
    for name, field in fields.items():
        if not is_looked_at(name, field):
            continue
        whole = not field.is_floating_point()
        rows = field.detach()[:ROWS]
        found = _of_labels(rows) if name == "labels" and whole else None
        found = found if found is not None else _of_any(rows, whole)
        parts.append(found)
        layout.append((name, whole, rows.dim() > 1, found.numel() // 5))
    if not parts:
        return torch.zeros(0, device="cpu"), []
    device = parts[0].device
    return torch.cat([each.to(device, non_blocking=True) for each in parts]), layout


def is_looked_at(name: str, field: torch.Tensor) -> bool:
    """Tell whether a field holds ids, labels or inputs, in plain memory."""
    plain = type(field) is torch.Tensor and field.layout is torch.strided
    if not plain or field.is_nested or not field.numel() or not field.dim():
        return False
    if field.is_floating_point():
        return field.dtype in _FLOATS and not any(part in name for part in _NOT_VALUES)
    return name in {"input_ids", "labels"} and field.dtype in _WHOLE


_FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
_WHOLE = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}


def _of_labels(labels: torch.Tensor) -> torch.Tensor:
    rows = as_array(_by_row(labels))
    counts = rows != IGNORED
    return _ends(rows * counts, counts)


def _of_any(field: torch.Tensor, whole: bool) -> torch.Tensor:
    if whole:
        rows = as_array(_by_row(field))
        return _ends(rows, rows)
    if field.dim() == _TALL:
        least, most = torch.aminmax(field, dim=-1)
        top, low = most.max(1), least.min(1)
        found = [top.values, low.values, top.indices, low.indices, top.indices]
    else:
        least, most = torch.aminmax(_by_row(field), dim=1)
        nowhere = torch.full_like(most, -1, dtype=torch.float32)
        found = [most, least, nowhere, nowhere, nowhere]
    return torch.stack([each.to(torch.float32) for each in found]).flatten()


def _ends(rows: Any, summed: Any) -> torch.Tensor:
    """Give both ends of each row, where they stand, and the sum of something."""
    high, low = rows.argmax(1), rows.argmin(1)
    if isinstance(rows, torch.Tensor):
        top = rows.gather(1, high[:, None])[:, 0]
        bottom = rows.gather(1, low[:, None])[:, 0]
        parts = (top, bottom, high, low, summed.sum(1))
        return torch.stack(parts).to(torch.float32).flatten()
    every = np.arange(len(rows))
    parts = (rows[every, high], rows[every, low], high, low, summed.sum(1))
    return torch.from_numpy(np.concatenate(parts).astype(np.float32))


def _by_row(field: torch.Tensor) -> torch.Tensor:
    """Give a field two dimensions; one number of a row is a row of one."""
    return field.unsqueeze(1) if field.dim() == 1 else field.flatten(1)


def read(values: NDArray[np.float32], layout: Layout) -> Iterator[FieldStats]:
    """Yield the numbers of each field, as they have arrived.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tokens.batch_stats import read, reduced
    >>> values, layout = reduced({"input_ids": torch.tensor([[3, 9, 4]])})
    >>> (ids,) = read(values.numpy(), layout)
    >>> ids.top.tolist(), ids.top_at.tolist(), ids.low.tolist()
    ([9.0], [1.0], [3.0])
    """
    begin = 0
    for name, whole, wide, rows in layout:
        part = values[begin : begin + 5 * rows].reshape(5, rows)
        begin += 5 * rows
        top, low, top_at, low_at, further = part
        yield FieldStats(name, whole, wide, top, low, top_at, low_at, further)
