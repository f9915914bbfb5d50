"""A fingerprint in a file: of a user's own naming, or beside what was saved."""

import json
import os
from pathlib import Path

from ftlab.records.fingerprint import TRAINED_WITH, Fingerprint

LARGEST = 64 * 2**20
"""Bytes of a file that a kept fingerprint is looked for in."""
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
)
"""What reading one raises, whatever is in the file."""


def read_kept(path: Path) -> Fingerprint:
    """Read a fingerprint that was kept; raises one of `UNREADABLE` for anything else.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizers.kept_print import read_kept
    >>> read_kept(Path("no such file"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: ...
    """
    if path.stat().st_size > LARGEST:
        msg = f"it has more than {LARGEST // 2**20} MiB"
        raise ValueError(msg)
    return Fingerprint.from_json(json.loads(path.read_text(encoding="utf-8")))


def trained_with(folder: Path) -> Fingerprint | None:
    """Return the fingerprint beside a checkpoint, ``None`` where none can be read."""
    try:
        return read_kept(folder / TRAINED_WITH)
    except UNREADABLE:
        return None


def keep_beside(folder: Path, fingerprint: Fingerprint) -> bool:
    """Write a fingerprint into the folder of a checkpoint, whole or not at all.

    A file of that name that holds anything but a fingerprint stays as it is, and so
    does one that holds this very fingerprint.

    Returns
    -------
    bool
        Whether the folder holds it now.
    """
    path = folder / TRAINED_WITH
    there = trained_with(folder)
    if there is None and os.path.lexists(path):
        return False
    if there is not None and there.digest == fingerprint.digest:
        return True
    part = folder / f"{TRAINED_WITH}.{os.getpid()}.part"
    try:
        part.write_text(json.dumps(fingerprint.as_json(), indent=1), encoding="utf-8")
        part.replace(path)
    except OSError:
        _discard(part)
        return False
    return True


def _discard(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return
