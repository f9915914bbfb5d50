"""Files of a vocabulary beside tokenizer.json, which other programs read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import (
    TOKENIZER,
    TOKENIZER_LIMIT,
    FolderFiles,
)
from ftlab.records.tokenizer_files import Agreement

LONG = 40
"""Characters of a piece that a message shows."""


def vocabulary_agreements(files: FolderFiles) -> Iterator[Agreement]:
    """Yield whether vocab.json and merges.txt are those of tokenizer.json.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_files import FolderFiles
    >>> from ftlab.probes.tokenizer_files.vocabulary_files import vocabulary_agreements
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "vocab.json").write_text('{"a": 1}')
    >>> values = {"tokenizer.json": {"model": {"vocab": {"a": 0}}}}
    >>> [each.words for each in vocabulary_agreements(FolderFiles(folder, (), values))]
    ["1 of 1 pieces have another id or none in tokenizer.json: 'a' is 1, and 0 there"]
    """
    model = files.get(TOKENIZER).get("model")
    held = model if isinstance(model, Mapping) else {}
    if isinstance(pieces := held.get("vocab"), Mapping):
        yield from _vocabulary(files, pieces)
    if isinstance(merges := held.get("merges"), list):
        yield from _merges(files.path / "merges.txt", merges)


def _vocabulary(files: FolderFiles, pieces: Mapping[str, Any]) -> Iterator[Agreement]:
    other = _json(files.path / "vocab.json")
    if not other:
        return
    known = {
        each.get("content"): each.get("id")
        for each in files.get(TOKENIZER).get("added_tokens") or ()
        if isinstance(each, Mapping)
    } | dict(pieces)
    unlike = [piece for piece, number in other.items() if known.get(piece) != number]
    if not unlike:
        yield Agreement("vocab.json", "agrees", f"{len(other):,} pieces")
        return
    first = unlike[0]
    words = (
        f"{len(unlike):,} of {len(other):,} pieces have another id or none in "
        f"{TOKENIZER}: {first[:LONG]!r} is {other[first]}, and {known.get(first)} there"
    )
    yield Agreement("vocab.json", "differs", words)


def _merges(file: Path, merges: Sequence[Any]) -> Iterator[Agreement]:
    lines = _text(file).split("\n")
    other = [each for each in lines if each and not each.startswith("#version")]
    if not other:
        return
    ours = [" ".join(m) if isinstance(m, list) else str(m) for m in merges]
    if other == ours:
        yield Agreement("merges.txt", "agrees", f"{len(other):,} merges")
        return
    both = zip(other, ours, strict=False)
    unlike = (at for at, (one, two) in enumerate(both) if one != two)
    at = next(unlike, min(len(other), len(ours)))
    words = (
        f"{len(other):,} merges, and {len(ours):,} in {TOKENIZER}; the first that "
        f"differs is number {at + 1:,}"
    )
    yield Agreement("merges.txt", "differs", words)


def _json(file: Path) -> Mapping[str, Any]:
    try:
        held = json.loads(_text(file) or "{}")
    except (ValueError, RecursionError):
        return {}
    return held if isinstance(held, Mapping) else {}


def _text(file: Path) -> str:
    """Read a file; nothing where it is none, too large or no text."""
    try:
        if not file.is_file() or file.stat().st_size > TOKENIZER_LIMIT:
            return ""
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
