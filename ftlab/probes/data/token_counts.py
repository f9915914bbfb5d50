"""How many tokens texts are, and how many more a chat template writes around them."""

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ftlab.probes.data.rows.parts import ROLES, Part, RowParts
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.probes.tokens.sources import of_messages
from ftlab.records.errors import BadValueError
from ftlab.records.template import TemplateFacts

LONG = 1 << 20
"""Characters of one text that are tokenised; of a longer one, the rest is estimated."""

RENDERED = 4
"""Rows that are rendered to see whether the counting is right."""

_UNSEEN = "\u0d9e\ua4ea\U0001f9ff\U00020bb7"
"""Rare characters: what a vocabulary without bytes does not know."""

_SPOKEN = {"s": "system", "u": "user", "a": "assistant", "c": "assistant", "t": "tool"}


class TokenCounter:
    """Counts tokens as fast as the tokenizer can.

    Parameters
    ----------
    tokenizer
        A tokenizer, or a processor that holds one.

    Attributes
    ----------
    unknown
        The id that stands for what the vocabulary lacks; ``None`` if nothing becomes
        it.

    Raises
    ------
    BadValueError
        It is no tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        inner = text_tokenizer(tokenizer)
        if not callable(inner) or isinstance(inner, type) or inspect.isroutine(inner):
            kind = f"of type {type(tokenizer).__name__}"
            of = f"the class {inner.__name__}" if isinstance(inner, type) else kind
            msg = (
                f"The tokenizer is {of}; pass one of "
                "transformers: AutoTokenizer.from_pretrained(folder)."
            )
            raise BadValueError(msg)
        self._inner, self._size = inner, -1
        self._encode = _encoder(inner)
        first = self._tried(tokenizer)
        unknown = getattr(inner, "unk_token_id", None)
        becomes = isinstance(unknown, int) and unknown in first
        self.unknown: int | None = unknown if becomes else None

    def _tried(self, tokenizer: Any) -> list[int]:
        """Tokenise a text, to see whether it can be done at all."""
        try:
            return self.ids(_UNSEEN)
        except Exception as error:
            msg = (
                f"The tokenizer, of type {type(tokenizer).__name__}, raised "
                f"{type(error).__name__} at its first text: {error}"
            )
            raise BadValueError(msg) from error

    def size(self) -> int:
        """Return the number behind the highest id of the vocabulary; 0 if unknown."""
        if self._size < 0:
            known: dict[str, int] = getattr(self._inner, "get_vocab", dict)()
            self._size = 1 + max(known.values(), default=-1)
        return self._size

    def counts(self, texts: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the tokens of each text, and how many of them are unknown."""
        encoded = self._encode([t if len(t) <= LONG else t[:LONG] for t in texts])
        lengths = list(map(len, encoded))
        for at, text in enumerate(texts):
            if len(text) > LONG:
                lengths[at] = lengths[at] * len(text) // LONG
        if self.unknown is None:
            return lengths, []
        return lengths, [_ids(each).count(self.unknown) for each in encoded]

    def ids(self, text: str) -> list[int]:
        """Return the tokens of one text."""
        return _ids(self._encode([text])[0])


def _ids(encoded: Any) -> list[int]:
    return list(getattr(encoded, "ids", encoded))


def _encoder(inner: Any) -> Callable[[list[str]], Sequence[Any]]:
    fast: Any = getattr(inner, "backend_tokenizer", None)
    if not hasattr(fast, "encode_batch_fast"):
        return lambda texts: inner(texts, add_special_tokens=False)["input_ids"]
    if fast.truncation or fast.padding:
        fast = copy.deepcopy(fast)
        fast.no_truncation()
        fast.no_padding()
    return lambda texts: fast.encode_batch_fast(texts, add_special_tokens=False)


class RowLengths:
    """Adds up the tokens of a row, with those that a chat template writes.

    Parameters
    ----------
    counter
        Counts the template's texts.
    facts
        Of the template; ``None`` where there is none.
    added
        Tokens that the tokenizer adds to a text that it is given alone.
    """

    def __init__(
        self, counter: TokenCounter, facts: TemplateFacts | None, added: int = 0
    ) -> None:
        self._added = added
        self.template = facts is not None and facts.refused is None
        self._around: dict[str, int] = {}
        self._first = self._last = 0
        if facts is not None and self.template:
            self._first = _size(counter, facts.beginning)
            for letter, role in _SPOKEN.items():
                known = role if role in facts.openings else "user"
                opening, end = facts.openings.get(known, ""), facts.ends.get(known, "")
                self._around[letter] = _size(counter, opening) + _size(counter, end)
            end = facts.ends.get("assistant", "")
            self._last = _size(counter, facts.terminator) - _size(counter, end)

    def length(self, row: RowParts, counts: Sequence[int]) -> tuple[int, int]:
        """Return the tokens of a row, and those before its first answer.

        Parameters
        ----------
        row
            A preference is as long as its longer side.
        counts
            Tokens of each of its texts.
        """
        if row.kind == "preference":
            return self._longer_side(row.parts, counts)
        spoken = row.kind == "messages" and self.template
        total = self._first if spoken else self._added
        before = -1
        for part, count in zip(row.parts, counts, strict=True):
            letter = ROLES.get(part.role, "u")
            if before < 0 and letter == "a":
                before = total
            total += count + (self._around.get(letter, 0) if spoken else 0)
        total += self._last if spoken else 0
        return total, before

    def _longer_side(
        self, parts: Sequence[Part], counts: Sequence[int]
    ) -> tuple[int, int]:
        sides = {"chosen": 0, "rejected": 0}
        before = self._added
        for part, count in zip(parts, counts, strict=True):
            around = self._around.get(ROLES.get(part.role, "u"), 0)
            count += around if part.message >= 0 else 0
            if part.column in sides:
                sides[part.column] += count
            else:
                before += count
        return before + max(sides.values()), before


def _size(counter: TokenCounter, text: str) -> int:
    return len(counter.ids(text)) if text else 0


def rendered_length(tokenizer: Any, row: RowParts) -> int | None:
    """Return the tokens of a conversation as its template renders it.

    ``None`` where it does not, or where the row holds more than texts.
    """
    if row.kind != "messages" or row.beside or any(p.says_more for p in row.parts):
        return None
    talk = [{"role": part.role, "content": part.text} for part in row.parts]
    try:
        read = of_messages(tokenizer, talk)
    except BadValueError:
        return None
    return len(read.rows[0].ids)
