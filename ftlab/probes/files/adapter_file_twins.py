"""Whether a folder holds an adapter twice, and the one that is read is the older.

PEFT reads ``adapter_model.safetensors`` where it is there, and leaves
``adapter_model.bin`` beside it alone. A pickle is not opened for that: what it stores
are plain bytes in an archive, and those of equal tensors are equal.
"""

import hashlib
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_STORAGE = re.compile(r"[^/]+/data/\d+")
_LENGTH = 8
"""Bytes that tell how long the header of a safetensors file is."""


def is_outdated(tensors: Path, pickled: Path) -> bool:
    """Tell whether a pickle is newer than the safetensors and has other values.

    Only where both store pieces of the same sizes: another format, or another dtype,
    is no newer version.
    """
    if not (tensors.is_file() and pickled.is_file()):
        return False
    if pickled.stat().st_mtime_ns <= tensors.stat().st_mtime_ns:
        return False
    try:
        read, left = Counter(_of_safetensors(tensors)), Counter(_of_pickle(pickled))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return False
    return read != left and _sizes(read) == _sizes(left)


def _of_safetensors(file: Path) -> Iterator[tuple[int, str]]:
    with file.open("rb") as opened:
        start = _LENGTH + int.from_bytes(opened.read(_LENGTH), "little")
        header = json.loads(opened.read(start - _LENGTH))
        for name, entry in header.items():
            if name != "__metadata__":
                first, last = entry["data_offsets"]
                opened.seek(start + first)
                yield _digest(opened.read(last - first))


def _of_pickle(file: Path) -> Iterator[tuple[int, str]]:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if _STORAGE.fullmatch(name):
                yield _digest(archive.read(name))


def _digest(data: bytes) -> tuple[int, str]:
    return len(data), hashlib.blake2b(data, digest_size=16).hexdigest()


def _sizes(pieces: Counter[tuple[int, str]]) -> Counter[int]:
    return Counter(size for size, _ in pieces.elements())
