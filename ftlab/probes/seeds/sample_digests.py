"""Which samples a step was fed: numbers that two runs have in common for the same row.

A row's digest is a sum of its values, each times a fixed odd number of its place,
modulo 2**64, of which 24 bits are kept: float32 holds them exactly, and two rows that
differ share them once in 17 million times.
"""

import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.tensors.host import as_array, as_tensor
from ftlab.probes.tokens.batch import batch_fields
from ftlab.records.step import Block, Column

TABLE = "samples"

ROWS = 256
"""Rows of a micro-batch that are followed."""

SAMPLED = 4096
"""Numbers of a row of floats that are read, evenly apart."""

WIDEST = 1 << 17
"""Whole numbers of a row that are all read."""

_BITS = 24
_ODD = 0x9E3779B97F4A7C15 - (1 << 64)
"""2**64 over the golden ratio, as Knuth's multiplicative hashing takes it."""

_LAYOUT = ("input_ids", "attention_mask", "position_ids", "cu_seq_lens_q")
"""Fields that are ids, or hang on how they are padded."""


class SampleDigests(Probe):
    """Take a digest of the ids of each row, and one of its other inputs."""

    table: ClassVar[str] = TABLE
    columns: ClassVar[Sequence[Column]] = (
        Column("ids", "1", "Digest of a row's ids without padding, 24 bits."),
        Column("others", "1", "Digest of its labels, pictures and other inputs."),
    )

    def __init__(self) -> None:
        self._step = -1
        self._micro_batch = 0
        self._names: dict[tuple[int, int], int] = {}

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Queue the digests of one micro-batch."""
        self._micro_batch = 0 if moment.step != self._step else self._micro_batch + 1
        self._step = moment.step
        values = digests(batch_fields(inputs))
        count = values.shape[1]
        ids = np.array([self._named(moment, row) for row in range(count)], np.int32)
        if count:
            yield Reading(values.flatten(), partial(_block, moment.step, ids))

    def _named(self, moment: Moment, row: int) -> int:
        key = self._micro_batch, row
        if key not in self._names:
            place = {"row": row, "micro_batch": self._micro_batch}
            name = f"{row} of micro-batch {self._micro_batch}"
            self._names[key] = moment.name(TABLE, name, "sample", place)
        return self._names[key]


def _block(
    step: int, ids: NDArray[np.int32], values: NDArray[np.float32]
) -> Iterable[Block]:
    rows, others = values.reshape(2, len(ids))
    yield Block(TABLE, step, ids, {"ids": rows, "others": others})


def digests(fields: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the digests of a micro-batch: float32 of shape ``(2, rows)``.

    The first are of ``input_ids`` without what the mask hides, wherever it stands; the
    second of all other fields that go by row. No rows where no field does.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.seeds.sample_digests import digests
    >>> left = {"input_ids": torch.tensor([[0, 5, 6]])}
    >>> left["attention_mask"] = torch.tensor([[0, 1, 1]])
    >>> right = {"input_ids": torch.tensor([[5, 6, 0, 0]])}
    >>> right["attention_mask"] = torch.tensor([[1, 1, 0, 0]])
    >>> torch.equal(digests(left), digests(right))
    True
    """
    usable = {name: each for name, each in fields.items() if _is_plain(each)}
    main = usable.get("input_ids", next(iter(usable.values()), None))
    if main is None:
        return torch.zeros(2, 0)
    count, mask = main.shape[0], _hiding(usable.get("attention_mask"))
    ids = others = as_array(torch.zeros(count, dtype=torch.int64, device=main.device))
    if "input_ids" in usable:
        ids = _sums(main, _mask_of(mask, main))
    for name, each in usable.items():
        if name in _LAYOUT or each.shape[0] != count:
            continue
        shown = _mask_of(mask, each) if each.shape == main.shape else None
        of_field = _sums(each, shown) * _number_of(name)
        others = others + _beside(of_field, others)
    if isinstance(ids, np.ndarray) and isinstance(others, np.ndarray):
        both = _folded(np.stack((ids, others)))
        return torch.from_numpy(both.astype(np.float32))[:, :ROWS]
    both = torch.stack((as_tensor(ids), as_tensor(others)))
    return _folded(both).to(torch.float32)[:, :ROWS]


def _is_plain(field: torch.Tensor) -> bool:
    plain = type(field) is torch.Tensor and field.layout is torch.strided
    return plain and field.dim() > 0 and field.numel() > 0 and not field.is_complex()


def _beside(sums: Any, others: Any) -> Any:
    """Bring sums to where others are."""
    if isinstance(sums, np.ndarray) and isinstance(others, np.ndarray):
        return sums
    device = others.device if isinstance(others, torch.Tensor) else "cpu"
    return as_array(as_tensor(sums).to(device, non_blocking=True))


def _whole(field: torch.Tensor) -> torch.Tensor:
    """Give floats by their bits, a sample of a row's."""
    rows = field.detach().reshape(field.shape[0], -1)
    rows = rows[:, :: -(-rows.shape[1] // SAMPLED)]
    return rows.to(torch.float32).view(torch.int32)


@functools.lru_cache(maxsize=64)
def _number_of(name: str) -> int:
    """Return an odd number for each field."""
    return 2 * zlib.crc32(name.encode()) + 1


def _hiding(mask: torch.Tensor | None) -> torch.Tensor | None:
    """Return a mask; ``None`` if it is seen, without waiting, to hide nothing."""
    held = None if mask is None else as_array(mask)
    whole = isinstance(held, np.ndarray) and np.count_nonzero(held) == held.size
    return None if whole else mask


def _mask_of(mask: torch.Tensor | None, field: torch.Tensor) -> torch.Tensor | None:
    if mask is None or mask.shape != field.shape:
        return None
    return mask.to(field.device, non_blocking=True)


def _sums(field: torch.Tensor, mask: torch.Tensor | None) -> Any:
    """Sum each row's values times the numbers of their places; int64 wraps around.

    Of rows that no text fills, such as a video's, a sample is read.
    """
    values = as_array(_whole(field) if field.is_floating_point() else field)
    values = values.reshape(len(values), -1)
    apart = -(-values.shape[1] // WIDEST)
    values = values[:, ::apart]
    places: Any
    if isinstance(values, np.ndarray):
        values = values.astype(np.int64, copy=False)
        places, total = _on_host(values.shape[1])
        if mask is None:
            return values @ places + total
    else:
        values, places = values.to(torch.int64), _places(values.shape[1], field.device)
        if mask is None:
            return ((values + 1) * places).sum(1)
    shown = as_array(mask).reshape(len(values), -1)[:, ::apart] != 0
    # In front of the first that is shown stands -1: any place will do.
    return ((values + 1) * places[shown.cumsum(1) - 1] * shown).sum(1)


@functools.lru_cache(maxsize=64)
def _places(count: int, device: torch.device) -> torch.Tensor:
    """Return an odd number for each place, mixed from its index."""
    mixed = (torch.arange(1, count + 1, device=device) * _ODD).bitwise_xor_(
        torch.arange(count, device=device) << 29
    )
    return mixed.mul_(_ODD).bitwise_or_(1)


@functools.lru_cache(maxsize=64)
def _on_host(count: int) -> tuple[NDArray[np.int64], int]:
    """Return the numbers of places, and their sum modulo 2**64."""
    places = _places(count, torch.device("cpu")).numpy()
    return places, places.sum()


def _folded(sums: Any) -> Any:
    mixed = (sums ^ (sums >> 32)) * _ODD
    return (mixed >> (64 - _BITS)) & ((1 << _BITS) - 1)
