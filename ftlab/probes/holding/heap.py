"""How much memory is in use: exact where the C library or CUDA counts, else resident.

Resident memory moves in pages and keeps what was freed. glibc counts what is allocated
to the byte: over the steps of a healthy run (a Llama of 24 layers, AdamW) it stayed
within 6 KiB, while resident memory moved by megabytes.
"""

import ctypes
import functools
import os
import re
from collections.abc import Callable
from pathlib import Path

import psutil
import torch

PRELOADED = ("jemalloc", "tcmalloc", "mimalloc")
"""Allocators that stand in for glibc's, which then counts nothing."""


class _MallInfo(ctypes.Structure):
    """What glibc's ``mallinfo2`` returns: ten numbers, of which two are read."""

    _fields_ = (
        ("_before", 4 * ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),
        ("_between", 2 * ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),
        ("_after", 2 * ctypes.c_size_t),
    )


def bytes_in_use() -> float:
    """Return the bytes that are allocated: on the GPU where CUDA is in use, else here.

    Reading CUDA's own count does not wait for the device.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.holding.heap import bytes_in_use
    >>> before = bytes_in_use()
    >>> kept = torch.zeros(2**20)
    >>> 4 * 2**20 <= bytes_in_use() - before < 5 * 2**20
    True
    """
    if torch.cuda.is_initialized():
        devices = range(torch.cuda.device_count())
        return float(sum(map(torch.cuda.memory_allocated, devices)))
    return heap_in_use()


def heap_in_use() -> float:
    """Return the bytes that are allocated on the host.

    Where the C library does not count them, it is resident memory.
    """
    return float(_reader()())


def shared_in_use() -> float:
    """Return the bytes of shared memory that this process has touched; 0 off Linux.

    A loader's process moves each tensor that it hands over into shared memory.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    found = re.search(r"^RssShmem:\s+(\d+) kB", status, re.MULTILINE)
    return 1024.0 * int(found[1]) if found else 0.0


def is_exact() -> bool:
    """Tell whether the C library counts what is allocated."""
    return _glibc() is not None


@functools.cache
def _reader() -> Callable[[], int]:
    process = psutil.Process()
    return _glibc() or (lambda: int(process.memory_info().rss))


@functools.cache
def _glibc() -> Callable[[], int] | None:
    if any(name in os.environ.get("LD_PRELOAD", "") for name in PRELOADED):
        return None
    try:
        read = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):  # another C library, or glibc before 2.33
        return None
    read.restype = _MallInfo

    def counted() -> int:
        info = read()
        return int(info.uordblks + info.hblkhd)

    return counted
