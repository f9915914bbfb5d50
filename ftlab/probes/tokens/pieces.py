"""What the ids of a vocabulary stand for: pieces, texts and special tokens.

A piece's text is read off a decoding behind another token: decoders drop a space at the
beginning of a text, not within it. Where a character is spread over several tokens, its
text is given to the first of them, and the others have none.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import Piece

BROKEN = "\ufffd"
"""What decoders write for bytes that are no character by themselves."""
LARGEST = 2**31
_HEXADECIMAL = re.compile("<0x[0-9A-F]{2}>")
_NAMES = ("bos", "eos", "pad", "unk")
_STOPS = ("template", "config", "generation_config")


class PieceBook:
    """Looks up each id once.

    Parameters
    ----------
    tokenizer
        Fast, slow, of mistral-common, or a processor that holds one; ``None`` for none.
    facts
        What is known of its chat template: the ids at which a generation stops.

    Examples
    --------
    >>> from ftlab.probes.tokens.pieces import PieceBook
    >>> book = PieceBook(None)
    >>> book.look_up([7])
    >>> book.pieces[7].text
    '7'
    """

    def __init__(self, tokenizer: Any, facts: TemplateFacts | None = None) -> None:
        self._tokenizer = text_tokenizer(tokenizer)
        self.special = special_ids(self._tokenizer, facts)
        self.pieces: dict[int, Piece] = {}
        self.unknown: set[int] = set()
        self._broken: dict[int, bytes] = {}
        self._control: frozenset[int] | None = None

    def look_up(self, ids: Iterable[int]) -> None:
        """Read the pieces of ids that are not known yet."""
        new = [each for each in ids if each not in self.pieces]
        if self._tokenizer is None:
            self.pieces |= {i: Piece(str(i), str(i), self._kinds(i)) for i in new}
            return
        inside = [each for each in new if 0 <= each < LARGEST]
        written = dict(zip(inside, _written(self._tokenizer, inside), strict=True))
        known = [each for each in inside if written[each] is not None]
        texts = _texts(self._tokenizer, known)
        for each, text in zip(known, texts, strict=True):
            piece = str(written[each])
            text = _plain(piece) if text == piece else text
            if BROKEN in text:
                self._broken[each] = _bytes(piece, text)
                text = text.replace(BROKEN, "")
            self.pieces[each] = Piece(piece, text, self._kinds(each))
        for each in new:
            if each not in self.pieces:
                lacking = f"? id {each} is not in the tokenizer"
                self.pieces[each] = Piece("?", lacking)
                self.unknown.add(each)

    def joined(self, ids: NDArray[np.int64]) -> dict[int, str]:
        """Give the text of characters that several tokens hold to the first of them.

        Returns
        -------
        dict
            By position; ``""`` at the tokens that hold the rest of a character.
        """
        if not self._broken:
            return {}
        marked = np.isin(ids, list(self._broken))
        edges = np.flatnonzero(np.diff(np.concatenate(([0], marked, [0]))))
        texts: dict[int, str] = {}
        for start, end in edges.reshape(-1, 2).tolist():
            run = ids[start:end].tolist()
            for at, text in enumerate(self._run(run)):
                texts[start + at] = text
        return texts

    def _run(self, run: list[int]) -> list[str]:
        parts = [self._broken[each] for each in run]
        if all(parts):
            return _joined(parts)
        return _grown(lambda ids: _decoded(self._tokenizer, ids), run)

    def _kinds(self, each: int) -> frozenset[str]:
        kinds = {name for name, ids in self.special.items() if each in ids}
        if not kinds:
            if self._control is None:
                self._control = _control_ids(self._tokenizer)
            kinds = {"control"} if each in self._control else set()
        return frozenset(kinds)


def special_ids(
    tokenizer: Any, facts: TemplateFacts | None = None
) -> dict[str, frozenset[int]]:
    """Return the ids of BOS, EOS, PAD, UNK and of what stops a generation.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokens.pieces import special_ids
    >>> special_ids(SimpleNamespace(bos_token_id=1, eos_token_id=[2, 3]))
    {'bos': frozenset({1}), 'eos': frozenset({2, 3})}
    """
    found = {name: _listed(tokenizer, f"{name}_token_id") for name in _NAMES}
    if facts is not None:
        stops = (facts.stops.get(name, ()) for name in _STOPS)
        found["stop"] = frozenset(each for ids in stops for each in ids)
    return {name: ids for name, ids in found.items() if ids}


def _listed(tokenizer: Any, name: str) -> frozenset[int]:
    value = getattr(tokenizer, name, None)
    values = value if isinstance(value, list | tuple) else [value]
    return frozenset(int(each) for each in values if isinstance(each, int))


def _control_ids(tokenizer: Any) -> frozenset[int]:
    found = set(_attempt(lambda: tokenizer.all_special_ids, ()))
    added = _attempt(lambda: dict(tokenizer.added_tokens_decoder), {})
    found |= {i for i, token in added.items() if getattr(token, "special", False)}
    return frozenset(found)


def _attempt(read: Callable[[], Any], otherwise: Any) -> Any:
    # a tokenizer is foreign code: what it cannot tell is not known
    try:
        return read()
    except Exception:  # noqa: BLE001
        return otherwise


def text_tokenizer(given: Any) -> Any:
    """Return a tokenizer, or the one within a processor.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokens.pieces import text_tokenizer
    >>> text_tokenizer(SimpleNamespace(tokenizer="inner"))
    'inner'
    """
    if callable(getattr(given, "convert_ids_to_tokens", None)):
        return given
    return getattr(given, "tokenizer", given)


def _written(tokenizer: Any, ids: list[int]) -> list[str | None]:
    """Return the pieces as the vocabulary writes them, ``None`` for those it lacks."""
    found = _attempt(lambda: tokenizer.convert_ids_to_tokens(ids), None)
    if found is not None and len(found) == len(ids):
        return list(found)
    read = tokenizer.convert_ids_to_tokens
    return [_attempt(partial(_first, read, each), None) for each in ids]


def _first(read: Callable[[list[int]], list[str]], each: int) -> str:
    return read([each])[0]


def _texts(tokenizer: Any, ids: list[int]) -> list[str]:
    """Decode each id behind a letter, and take the letter off."""
    letter = _attempt(lambda: _letter(tokenizer), [])
    before = _decoded(tokenizer, letter) if letter else ""
    rows = [[*letter, each] for each in ids]
    inner = getattr(tokenizer, "backend_tokenizer", None)
    if inner is not None and hasattr(inner, "decode_batch"):
        decoded = inner.decode_batch(rows, skip_special_tokens=False)
    else:
        decoded = [_decoded(tokenizer, row) for row in rows]
    return [
        text[len(before) :] if text.startswith(before) else _decoded(tokenizer, [each])
        for text, each in zip(decoded, ids, strict=True)
    ]


def _letter(tokenizer: Any) -> list[int]:
    ids = list(tokenizer.encode("a", add_special_tokens=False))
    sure = ids and _decoded(tokenizer, ids[-1:]).strip() == "a"
    return ids[-1:] if sure else []


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    inner = getattr(tokenizer, "backend_tokenizer", None)
    if inner is not None and hasattr(inner, "decode"):
        return str(inner.decode(ids, skip_special_tokens=False))
    return str(_attempt(lambda: tokenizer.decode(ids), BROKEN))


def _plain(piece: str) -> str:
    """Write the text of a piece that a decoder gave back as it is.

    mistral-common does so for SentencePiece, unless it may leave control tokens out.
    """
    if _HEXADECIMAL.fullmatch(piece):
        return bytes([int(piece[3:5], 16)]).decode("utf-8", "replace")
    return piece.replace("\u2581", " ")


def _bytes(piece: str, text: str) -> bytes:
    """Return the bytes of a piece that is no whole text, ``b""`` if it hides them."""
    if _HEXADECIMAL.fullmatch(piece):
        return bytes([int(piece[3:5], 16)])
    table = byte_table()
    if all(one in table for one in piece):
        found = bytes(table[one] for one in piece)
        if found.decode("utf-8", "replace") == text:
            return found
    return b""


@cache
def byte_table() -> Mapping[str, int]:
    """Return what byte-level vocabularies write for each byte, turned round.

    Printable bytes of Latin-1 stand for themselves, the others follow from 256 on, as
    in GPT-2's ``bytes_to_unicode``.
    """
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [each for each in range(256) if each not in plain]
    table = {chr(each): each for each in plain}
    return table | {chr(256 + at): each for at, each in enumerate(others)}


def _joined(parts: list[bytes]) -> list[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    texts = [""] * len(parts)
    owner = 0
    for at, part in enumerate(parts):
        waiting = bool(decoder.getstate()[0])
        text = decoder.decode(part)
        if waiting and text:
            texts[owner] += text[0]
            text = text[1:]
            waiting = False
        texts[at] += text
        owner = owner if waiting else at
    texts[owner] += decoder.decode(b"", final=True)
    return texts


def _grown(decode: Callable[[list[int]], str], run: list[int]) -> list[str]:
    """Split by decoding: a stretch is whole once it no longer ends in broken bytes."""
    texts = [""] * len(run)
    start = 0
    for at in range(len(run)):
        text = decode(run[start : at + 1])
        if not text.endswith(BROKEN) or at == len(run) - 1:
            texts[start] = text
            start = at + 1
    return texts
