"""Fingerprints of live tokenizers."""

import hashlib
import json
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
    small = {name: part_of(each) for name, each in reader.small().items()}
    found = large | small
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
