"""Fingerprints of live tokenizers."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ftlab.probes.plain import readable
from ftlab.probes.tokenizers.reader import Reader
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.records.fingerprint import PARTS, Fingerprint, Part, part_of


def read_fingerprint(tokenizer: Any) -> Fingerprint | None:
    """Read the fingerprint of a tokenizer, ``None`` for what is none.

    A part that cannot be read is absent. What a call leaves in a fast tokenizer, its
    last padding and truncation, is no part.

    Examples
    --------
    >>> from ftlab.probes.tokenizers.fingerprint import read_fingerprint
    >>> class Letters:
    ...     def get_vocab(self):
    ...         return {"a": 0, "b": 1}
    >>> read_fingerprint(Letters()).parts["vocabulary"].size
    2
    """
    reader = reader_of(tokenizer)
    if reader is None:
        return None
    large = readable(
        vocabulary=lambda: _vocabulary(reader), merges=lambda: _merges(reader)
    )
    return _made(reader, large)


def renewed(fingerprint: Fingerprint, reader: Reader) -> Fingerprint:
    """Read the small parts again, and take vocabulary and merges as they were read."""
    return _made(reader, fingerprint.parts)


def _made(reader: Reader, large: Mapping[str, Part | None]) -> Fingerprint:
    small = {name: part_of(each) for name, each in reader.small().items()}
    found = {name: large.get(name) for name in ("vocabulary", "merges")} | small
    parts = {name: part for name in PARTS if (part := found.get(name)) is not None}
    return Fingerprint(type(reader.tokenizer).__name__, reader.backend, parts)


def _vocabulary(reader: Reader) -> Part:
    pairs = sorted(reader.vocabulary())
    written = json.dumps(pairs).encode()
    return Part(hashlib.sha256(written).hexdigest(), len(pairs))


def _merges(reader: Reader) -> Part | None:
    state = reader.merges()
    if not state:
        return None
    return Part(hashlib.sha256(state).hexdigest(), len(state))
