"""Tensors of an execution, kept in one temporary file and not in memory."""

import math
import os
import tempfile
from collections import deque
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.replay.torch_private import version

_REMEMBERED = 8
"""Tensors that are held, to know them when they come again as the next input."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a tensor stands in the file."""

    offset: int
    shape: tuple[int, ...]
    dtype: torch.dtype


class Spool:
    """A temporary file that tensors are appended to.

    The file has no name and is gone with the object. What the system holds of it in
    memory can be given up at any time.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.spool import Spool
    >>> with Spool() as spool:
    ...     kept = spool.put(torch.tensor([[1, 2]], dtype=torch.bfloat16))
    ...     spool.get(kept)
    tensor([[1., 2.]], dtype=torch.bfloat16)
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  closed by `close`
        self._size = 0
        self._last: deque[tuple[torch.Tensor, Identity, Kept]] = deque(
            maxlen=_REMEMBERED
        )

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the file."""
        self._last.clear()
        self._file.close()

    def put(self, tensor: torch.Tensor) -> Kept:
        """Append a tensor; one that has just been put is not written again."""
        identity = identity_of(tensor)
        for _, seen, kept in self._last:
            if seen == identity:
                return kept
        plain = tensor.detach().contiguous().cpu()
        kept = Kept(self._size, tuple(tensor.shape), tensor.dtype)
        if plain.numel():
            data: Any = plain.reshape(-1).view(torch.uint8).numpy()
            self._file.write(data)
            self._size += data.nbytes
            pad = -self._size % 16
            self._file.write(b"\0" * pad)
            self._size += pad
        self._last.append((tensor.detach(), identity, kept))
        return kept

    def get(self, kept: Kept) -> torch.Tensor:
        """Read a tensor, onto the CPU."""
        count = math.prod(kept.shape)
        if not count:
            return torch.zeros(kept.shape, dtype=kept.dtype)
        self._file.flush()
        bytes_read = bytearray(count * kept.dtype.itemsize)
        os.preadv(self._file.fileno(), [bytes_read], kept.offset)
        return torch.frombuffer(bytes_read, dtype=kept.dtype).view(kept.shape)


Identity = tuple[Any, ...]


def identity_of(tensor: torch.Tensor) -> Identity:
    """Return what is equal for two views of the same values, while one of them lives.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.spool import identity_of
    >>> ones = torch.ones(2)
    >>> identity_of(ones) == identity_of(ones.view_as(ones))
    True
    >>> before = identity_of(ones)
    >>> before == identity_of(ones.add_(1))
    False
    """
    if tensor.layout != torch.strided:
        return (id(tensor),)
    return (
        tensor.data_ptr(),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.dtype,
        version(tensor),
    )
