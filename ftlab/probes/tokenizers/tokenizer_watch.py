"""Notices at run time that a tokenizer is no longer what it was."""

from collections.abc import Hashable
from itertools import cycle
from typing import Any

from ftlab.probes.plain import readable
from ftlab.probes.tokenizers.fingerprint import read_fingerprint, renewed
from ftlab.probes.tokenizers.reader import Reader
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.records.fingerprint import Fingerprint, digest_of

TEXT = "Größe 42: def f(x):\n\treturn x**2  # naïve 日本語 Привет مرحبا 🙂 <s></s>"
"""Turned into ids at each look: several scripts, digits, white space, special marks."""
WINDOWS = 64
"""The vocabulary is looked through piece by piece, in so many looks."""


class TokenizerWatch:
    """The digest of one tokenizer, computed anew only where it may have changed.

    A digest reads the whole vocabulary, 0.5 s of 131,000 entries with their merges. A
    look at these takes 2 to 10 ms: at all small parts, at the ids of one text, and at a
    part of the vocabulary that moves on. Where only small parts have changed, such as
    the side of the padding, no more is read again. Pieces that are exchanged in place
    are noticed after 64 looks at the latest, merges where the text shows them.

    Parameters
    ----------
    tokenizer
        Or a processor that has one; ``None`` for none.

    Examples
    --------
    >>> from ftlab.probes.tokenizers.tokenizer_watch import TokenizerWatch
    >>> class Letters:
    ...     def __init__(self):
    ...         self.letters = {"a": 0, "b": 1}
    ...
    ...     def get_vocab(self):
    ...         return self.letters
    ...
    ...     def __len__(self):
    ...         return len(self.letters)
    >>> letters = Letters()
    >>> watch = TokenizerWatch(letters)
    >>> first = watch()
    >>> letters.letters["c"] = 2
    >>> watch() == first, TokenizerWatch(None)()
    (False, '')
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._fingerprint: Fingerprint | None = None
        self._small = ""
        self._core: Hashable = None
        self._ids: dict[Hashable, Hashable] = {}
        self._windows: dict[int, Hashable] = {}
        self._turn = cycle(range(WINDOWS))

    def __call__(self) -> str:
        """Return the digest, 64 hexadecimal digits; ``""`` for no tokenizer."""
        found = self.fingerprint()
        return "" if found is None else found.digest

    def is_of(self, tokenizer: Any) -> bool:
        """Tell whether it watches this very object."""
        return self._tokenizer is tokenizer

    def fingerprint(self) -> Fingerprint | None:
        """Return the fingerprint; the same object as long as nothing changes."""
        reader = reader_of(self._tokenizer)
        if reader is None:
            return None
        large, small = self._is_same(reader, next(self._turn)), _small(reader)
        if self._fingerprint is None or not large:
            self._fingerprint = read_fingerprint(self._tokenizer)
            self._core, self._ids = _core(reader), dict([_ids(reader)])
            self._windows = {each: _window(reader, each) for each in range(WINDOWS)}
        elif small != self._small:
            self._fingerprint = renewed(self._fingerprint, reader)
        self._small = small
        return self._fingerprint

    def _is_same(self, reader: Reader, turn: int) -> bool:
        """Tell whether the vocabulary and what it makes of a text are as they were."""
        if self._core != _core(reader) or self._windows[turn] != _window(reader, turn):
            return False
        setting, ids = _ids(reader)
        return self._ids.setdefault(setting, ids) == ids


def _core(reader: Reader) -> Hashable:
    return id(reader.core), readable(size=reader.size).get("size")


def _small(reader: Reader) -> str:
    return digest_of(readable(parts=reader.small))


def _ids(reader: Reader) -> tuple[Hashable, Hashable]:
    """Return what a last call has left that cuts or pads a text, and the text's ids."""
    found = readable(ids=lambda: reader.ids_as_left(TEXT))
    left, ids = found.get("ids", ("", ()))
    return left, tuple(ids)


def _window(reader: Reader, turn: int) -> Hashable:
    """Return what stands for one part of the ids; ``None`` where that is not told."""

    def pieces() -> int:
        ids = list(range(turn, reader.size(), WINDOWS))
        return hash(tuple(reader.pieces(ids)))

    return readable(pieces=pieces).get("pieces")
