"""Rows of tokenizers that write conversations by code of their own, such as Mistral's.

They have no chat template. Who speaks where is read off the ids: the texts of the
messages are searched in order, and what stands between two of them is divided at EOS.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ftlab.probes.templates.owners import Own, in_order
from ftlab.probes.tokens.pieces import PieceBook, text_tokenizer
from ftlab.probes.tokens.turns import in_tokens, offsets
from ftlab.records.rendering import Refusal
from ftlab.records.token_row import TextSpan, TokenRow, Turn

LONGEST = 300
"""Characters of a tokenizer's own words that are passed on."""
FOR_TRAINING = 'one loaded with mode="finetuning" writes what ends in an answer'


def renders_itself(tokenizer: Any, refusal: Refusal) -> bool:
    """Whether code of its own, and no template, makes ids of messages.

    Examples
    --------
    >>> from ftlab.probes.tokens.self_rendered import renders_itself
    >>> from ftlab.records.rendering import Refusal
    >>> renders_itself(None, Refusal("no template", "there is none"))
    False
    """
    from transformers import PreTrainedTokenizerBase

    own = getattr(type(text_tokenizer(tokenizer)), "apply_chat_template", None)
    usual = (None, PreTrainedTokenizerBase.apply_chat_template)
    return refusal.kind == "no template" and own not in usual


def row_by_itself(
    tokenizer: Any,
    talk: Sequence[Mapping[str, Any]],
    book: PieceBook,
    source: str,
    settings: Mapping[str, Any],
) -> TokenRow | Refusal:
    """Let a tokenizer write a conversation, and find the turns in it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokens.pieces import PieceBook
    >>> from ftlab.probes.tokens.self_rendered import row_by_itself
    >>> own = SimpleNamespace(apply_chat_template=lambda talk, tokenize: [5, 6])
    >>> talk = [{"role": "user", "content": "6"}]
    >>> row = row_by_itself(own, talk, PieceBook(None), "", {})
    >>> [(turn.start, turn.part) for turn in row.turns]
    [(0, 'header'), (1, 'text')]
    """
    inner = text_tokenizer(tokenizer)
    try:
        made = inner.apply_chat_template(talk, tokenize=True, **settings)
    except Exception as error:  # noqa: BLE001  of code that is not ours
        said = " ".join(str(error).split())[:LONGEST]
        refused = f"{type(inner).__name__} says: {said}"
        if talk[-1].get("role") == "assistant":
            refused += f"; {FOR_TRAINING}"
        return Refusal("raised", refused)
    ids = np.asarray(made["input_ids"] if isinstance(made, Mapping) else made, np.int64)
    book.look_up(set(ids.tolist()))
    texts = book.joined(ids)
    words = [
        texts.get(at, book.pieces[each].text) for at, each in enumerate(ids.tolist())
    ]
    ending = [book.pieces[each].special >= {"eos"} for each in ids.tolist()]
    beginning = [book.pieces[each].special >= {"bos"} for each in ids.tolist()]
    turns = _turns(words, talk, ending, beginning)
    return TokenRow(ids, turns=tuple(turns), source=source, texts=texts)


def _turns(
    words: list[str],
    talk: Sequence[Mapping[str, Any]],
    ending: list[bool],
    beginning: list[bool],
) -> Iterator[Turn]:
    text = "".join(words)
    owns = _owns(talk, text)
    if not owns:
        return
    places = np.cumsum([0, *map(len, words)]).tolist()
    stops = [places[at + 1] for at, each in enumerate(ending) if each]
    opened = [places[at + 1] for at, each in enumerate(beginning) if each]
    spans = _spans(owns, talk, stops, (max(opened, default=0), len(text)))
    yield from in_tokens(spans, *offsets(words))


def _owns(talk: Sequence[Mapping[str, Any]], text: str) -> list[Own]:
    """Return where the texts stand; some write a system text into a question."""
    for left_out in ("", "system"):
        numbers = [at for at, each in enumerate(talk) if each.get("role") != left_out]
        found = in_order([talk[at] for at in numbers], text)
        if [own.message for own in found] == list(range(len(numbers))):
            return [replace(own, message=numbers[own.message]) for own in found]
    return []  # texts that were changed


def _spans(
    owns: Sequence[Own],
    talk: Sequence[Mapping[str, Any]],
    stops: Sequence[int],
    bounds: tuple[int, int],
) -> Iterator[TextSpan]:
    """Yield header, text and end of each message."""
    place, last = bounds
    edges = [*(own.start for own in owns[1:]), last]
    for own, edge in zip(owns, edges, strict=True):
        role = str(talk[own.message].get("role", ""))
        behind = [stop for stop in stops if own.end < stop <= edge]
        final = edge if own is owns[-1] else own.end
        end = min(behind, default=final)
        yield TextSpan(place, own.start, role, own.message, "header")
        yield TextSpan(own.start, own.end, role, own.message, own.part)
        yield TextSpan(own.end, end, role, own.message, "end")
        place = end
