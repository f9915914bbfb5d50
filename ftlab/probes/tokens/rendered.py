"""A rendered conversation in tokens, with the turns that its characters belong to."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.pieces import PieceBook, text_tokenizer
from ftlab.probes.tokens.turns import in_tokens
from ftlab.records.errors import BadValueError
from ftlab.records.token_row import Rendering, TokenRow

_HALF = re.compile("[\ud800-\udfff]")
"""Of a character that UTF-16 writes as two; JSON may hold one alone."""

AHEAD = 64
"""Characters within which a token's text is searched where decoding changed some."""


def row_of(
    rendering: Rendering, tokenizer: Any, book: PieceBook, source: str = ""
) -> TokenRow:
    """Tokenise a rendering, as ``apply_chat_template`` does.

    Examples
    --------
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import PreTrainedTokenizerFast
    >>> from ftlab.probes.tokens.pieces import PieceBook
    >>> from ftlab.probes.tokens.rendered import row_of
    >>> from ftlab.records.token_row import Rendering, TextSpan
    >>> inner = Tokenizer(models.WordLevel({"Hi": 0, ".": 1}, unk_token="."))
    >>> inner.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner)
    >>> spans = (TextSpan(0, 2, "user", 0, "text"), TextSpan(2, 3, "user", 0, "end"))
    >>> row = row_of(Rendering("Hi.", spans), tokenizer, PieceBook(tokenizer))
    >>> [(turn.start, turn.end, turn.part) for turn in row.turns]
    [(0, 1, 'text'), (1, 2, 'end')]
    """
    ids, starts, ends = encoded(rendering.text, tokenizer, book)
    turns = in_tokens(rendering.spans, *_firsts(rendering.text, starts, ends))
    return TokenRow(ids, turns=tuple(turns), source=source, texts=book.joined(ids))


def encoded(
    text: str, tokenizer: Any, book: PieceBook
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ids, and where each token begins and ends in the text."""
    if half := _HALF.search(text):
        msg = (
            f"The text holds half of a character, U+{ord(half[0]):X}, at "
            f"{half.start()}: no tokenizer reads it. Fix the text: "
            "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')."
        )
        raise BadValueError(msg)
    inner = text_tokenizer(tokenizer)
    offsets: Sequence[tuple[int, int]] | None = None
    if getattr(inner, "is_fast", False):
        made = inner(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, offsets = made["input_ids"], made["offset_mapping"]
    else:
        ids = inner(text, add_special_tokens=False)["input_ids"]
    row = np.asarray(ids, np.int64).reshape(-1)
    book.look_up(set(row.tolist()))
    if offsets is None:
        offsets = _aligned(text, row, book)
    places = np.asarray(offsets, np.int64).reshape(-1, 2)
    return row, places[:, 0], places[:, 1]


def _aligned(
    text: str, ids: NDArray[np.int64], book: PieceBook
) -> list[tuple[int, int]]:
    """Find each token's text behind that of the one before it.

    Tokenizers that change a text (its case, its spaces) are followed by the next token
    that is found again.
    """
    joined = book.joined(ids)
    places = []
    place = 0
    for at, each in enumerate(ids.tolist()):
        word = joined.get(at, book.pieces[each].text)
        found = text.find(word, place, place + len(word) + AHEAD) if word else -1
        if found < 0 and word.strip():
            word = word.strip()
            found = text.find(word, place, place + len(word) + AHEAD)
        start = found if found >= 0 else place
        end = start + len(word) if found >= 0 else start
        places.append((start, end))
        place = end
    return places


def _firsts(
    text: str, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the character that decides whom a token belongs to.

    It is the first one that is no white space, or else the first. Tokens that hold the
    rest of a character go with the one before.
    """
    firsts = starts.copy()
    reached = np.concatenate(([0], np.maximum.accumulate(ends)[:-1]))
    empty = (starts == ends) | (ends <= reached)
    for at in np.flatnonzero(~empty):
        word = text[starts[at] : ends[at]]
        if word[:1].isspace() and word.strip():
            firsts[at] += len(word) - len(word.lstrip())
    return firsts, empty
