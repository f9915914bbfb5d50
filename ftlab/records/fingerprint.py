"""What makes a tokenizer what it is, part by part, and how two of them differ."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PARTS = (
    "vocabulary",
    "merges",
    "model",
    "normaliser",
    "pre-tokeniser",
    "decoder",
    "post-processor",
    "special tokens",
    "added tokens",
    "chat template",
    "padding and truncation",
    "switches",
)
"""The parts of a tokenizer, in the order in which they are shown."""

SIDES = "padding and truncation"
"""The part that goes to and fro with each evaluation."""

LONGEST = 100_000
"""Characters of an entry that are kept; of a longer one its digest is."""

TRAINED_WITH = "trained_with.fingerprint.json"
"""The file beside a checkpoint that has the fingerprint of the run's tokenizer."""

VERSION = 1
"""Raised when equal tokenizers would get another digest than before.

What was kept under a lower one stays readable, with the digest that it had.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a tokenizer.

    Attributes
    ----------
    digest
        SHA-256 of all of it, 64 hexadecimal digits.
    size
        Ids of a vocabulary, bytes of merges, entries of every other part.
    entries
        JSON texts by name, such as ``{"eos_token": '"</s>"'}``; none of a vocabulary
        and of merges, which are too large to keep.
    """

    digest: str
    size: int
    entries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that two fingerprints have not in common.

    Attributes
    ----------
    part
        One of `PARTS`.
    entry
        Its name; ``""`` where a part was kept only as a digest.
    left, right
        The two values as JSON, ``""`` where a side has none. For an entry without a
        name, how many there are.
    """

    part: str
    entry: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A tokenizer's parts, each with a digest.

    Attributes
    ----------
    kind
        Class of the tokenizer.
    backend
        What turns text into ids: ``"tokenizers"``, ``"python"``, ``"sentencepiece"``,
        ``"tiktoken"`` or ``"mistral-common"``.
    parts
        By name; a part that a tokenizer does not have, or that could not be read, is
        absent.
    version
        The `VERSION` under which it was read.

    Examples
    --------
    >>> from ftlab.records.fingerprint import Fingerprint, part_of
    >>> old = Fingerprint("Own", "python", {"switches": part_of({"legacy": True})})
    >>> new = Fingerprint("Own", "python", {"switches": part_of({"legacy": False})})
    >>> old.digest == new.digest
    False
    >>> [(each.part, each.entry, each.left, each.right) for each in old.changes(new)]
    [('switches', 'legacy', 'true', 'false')]
    """

    kind: str
    backend: str
    parts: Mapping[str, Part]
    version: int = VERSION

    @property
    def digest(self) -> str:
        """SHA-256 over all parts; neither class nor back end is in it."""
        told = {name: part.digest for name, part in self.parts.items()}
        return digest_of([self.version, told])

    def differing(self, other: "Fingerprint") -> tuple[str, ...]:
        """Name the parts that are not the same in both."""
        return tuple(
            name
            for name in PARTS
            if _digest(self.parts.get(name)) != _digest(other.parts.get(name))
        )

    def changes(self, other: "Fingerprint") -> tuple[Change, ...]:
        """Return what differs, entry by entry where entries are kept."""
        return tuple(
            change
            for name in self.differing(other)
            for change in _changes(name, self.parts.get(name), other.parts.get(name))
        )

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        parts = {
            name: {"digest": p.digest, "size": p.size, "entries": dict(p.entries)}
            for name, p in self.parts.items()
        }
        told = {"version": self.version, "digest": self.digest}
        return told | {"kind": self.kind, "backend": self.backend, "parts": parts}

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "Fingerprint":
        """Make a fingerprint out of what `as_json` gave.

        Raises
        ------
        ValueError, TypeError, KeyError
            Something else was read, it is of a later version, or its digest is not
            that of its parts.
        """
        version = read["version"]
        if not isinstance(version, int) or not 1 <= version <= VERSION:
            msg = f"it is of version {version!r}, not of 1 to {VERSION}"
            raise ValueError(msg)
        parts = {
            str(name): Part(
                str(part["digest"]),
                int(part["size"]),
                {str(key): str(value) for key, value in part["entries"].items()},
            )
            for name, part in read["parts"].items()
            if name in PARTS
        }
        made = cls(str(read["kind"]), str(read["backend"]), parts, version)
        if read["digest"] != made.digest:
            msg = "its digest is not that of its parts"
            raise ValueError(msg)
        return made


def part_of(value: Any) -> Part:
    """Make a part of plain values, with its entries.

    Examples
    --------
    >>> from ftlab.records.fingerprint import part_of
    >>> dict(part_of({"type": "Sequence", "steps": [{"type": "NFC"}]}).entries)
    {'type': '"Sequence"', 'steps.0.type': '"NFC"'}
    """
    entries = dict(_flat("", value))
    kept = {name: _short(text) for name, text in entries.items()}
    return Part(digest_of(value), len(entries), kept)


def digest_of(value: Any) -> str:
    """Return the SHA-256 of a value that JSON can hold, 64 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield what stands where in nested values; empty ones stand for themselves."""
    if isinstance(value, Mapping) and value:
        within = value.items()
    elif isinstance(value, list) and any(isinstance(e, Mapping) for e in value):
        within = {str(at): each for at, each in enumerate(value)}.items()
    else:
        yield path, json.dumps(value, sort_keys=True, ensure_ascii=False)
        return
    for name, each in within:
        yield from _flat(f"{path}.{name}" if path else str(name), each)


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return json.dumps(f"{len(text):,} characters, SHA-256 {digest_of(text)}")


def _digest(part: Part | None) -> str:
    return "" if part is None else part.digest


def _changes(name: str, left: Part | None, right: Part | None) -> Iterator[Change]:
    some = {} if left is None else left.entries
    others = {} if right is None else right.entries
    unlike = [e for e in {**some, **others} if some.get(e) != others.get(e)]
    for entry in unlike:
        yield Change(name, entry, some.get(entry, ""), others.get(entry, ""))
    if not unlike:
        yield Change(name, "", *(f"{p.size:,}" if p else "" for p in (left, right)))
