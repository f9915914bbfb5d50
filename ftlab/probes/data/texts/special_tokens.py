"""Special tokens within texts, and other marks by which templates tell speakers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ftlab.probes.data.rows.parts import Part, Placed, RowParts, TextFault, is_answer
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.records.template import TemplateFacts

INSTRUCTIONS = ("### Instruction:", "### Response:", "### Input:")
"""Marks of the form in which pairs without messages are mostly written."""

OPENINGS = (
    *("<|im_start|>", "<|start_header_id|>", "<|begin_of_text|>", "<start_of_turn>"),
    *("<|start|>", "<|user|>", "<|assistant|>", "<|system|>"),
    *("[INST]", "<s>[INST]", "<s> [INST]", "<<SYS>>"),
)
ENDS = (
    *("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>"),
    *("<|end|>", "[/INST]", "<</SYS>>", "</s>"),
)
"""What well-known templates write before and behind a message."""

_MEDIA = re.compile(
    "image|img|video|audio|vision|patch|object|box|quad|point", re.IGNORECASE
)
"""Tokens that stand for a picture or a sound belong into a text."""


class SpecialTokens:
    """Looks for special tokens and marks of templates in texts.

    A text may speak of templates: marks of other models count where a message begins or
    ends.

    Parameters
    ----------
    tokenizer
        Whose special tokens are looked for; ``None`` for none.
    facts
        Of the chat template, whose openings and ends are looked for.

    Attributes
    ----------
    ended
        Texts without messages that end with a special token.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.texts.special_tokens import SpecialTokens
    >>> marks = SpecialTokens(SimpleNamespace(all_special_tokens=["<|end|>"]))
    >>> row = parts_of({"messages": [{"role": "user", "content": "a<|end|>"}]})
    >>> [fault for _, fault in marks.faults(row)]
    [TextFault(name='special-token-in-content', char=1, says="'<|end|>'")]
    """

    def __init__(self, tokenizer: Any, facts: TemplateFacts | None = None) -> None:
        inner = text_tokenizer(tokenizer)
        special = set(_special(inner))
        named = {s for s in special if len(s) > 1 and not _MEDIA.search(s)}
        self.ended = 0
        self._ends = tuple(special)
        self._special = _searches(named)
        self._roles = _searches(set(_role_marks(facts)) - special)
        self._written = _searches(INSTRUCTIONS)
        known = special | _known(inner, facts)
        foreign = tokenizer is not None
        self._openings = tuple(m for m in OPENINGS if foreign and m not in known)
        self._closings = tuple(m for m in ENDS if foreign and m not in known)

    def faults(self, row: RowParts) -> Iterator[Placed]:
        """Yield what stands in the texts of a row."""
        if row.kind == "text":
            yield from self._ending(row, len(row.parts) - 1)
            return
        talk = row.kind == "messages"
        name = "special-token-in-content" if talk else "special-token-in-text"
        roles = self._roles if talk else self._written
        for at, part in enumerate(row.parts):
            special = _first(self._special, part.text)
            if special and (talk or not _ends(special, part)):
                yield part, TextFault(name, special[0], repr(special[1]))
            elif found := _first(roles, part.text):
                # a text rendered before has both, and one cause
                yield part, TextFault("role-mark-in-content", found[0], repr(found[1]))
            if foreign := self._foreign(part.text, talk):
                yield part, foreign
            if not talk and is_answer(part):
                yield from self._ending(row, at)

    def is_ended(self, text: str) -> bool:
        """Tell whether a text ends with a special token."""
        return text.rstrip().endswith(self._ends)

    def _ending(self, row: RowParts, at: int) -> Iterator[Placed]:
        text = row.parts[at].text.rstrip()
        if not self._ends or not text:
            return
        if self.is_ended(text):
            self.ended += 1
        else:
            says = f"ends with {text[-20:]!r}"
            yield row.parts[at], TextFault("missing-end-mark", len(text) - 1, says)

    def _foreign(self, text: str, talk: bool) -> TextFault | None:
        """Find a mark of another model's template at either end of a text."""
        begun, end = text.lstrip(), text.rstrip()
        opened = [m for m in self._openings if talk and begun.startswith(m)]
        closed = [m for m in self._closings if end.endswith(m)] or [""]
        struck = closed[0] == "</s>" and "<s>" in text[1:]
        mark = opened[0] if opened else "" if struck else closed[0]
        at = len(text) - len(begun) if opened else len(end) - len(mark)
        return TextFault("foreign-mark-in-content", at, repr(mark)) if mark else None


def _ends(found: tuple[int, str], part: Part) -> bool:
    """Tell whether the token is the end of an answer."""
    at, mark = found
    return is_answer(part) and at + len(mark) >= len(part.text.rstrip())


def _special(tokenizer: Any) -> Iterator[str]:
    yield from getattr(tokenizer, "all_special_tokens", None) or ()
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    for token in added.values():
        if getattr(token, "special", False):
            yield str(token)


def _role_marks(facts: TemplateFacts | None) -> Iterator[str]:
    """Yield what a template writes before and behind a message, where it is no word."""
    if facts is None:
        return
    for mark in (*facts.openings.values(), *facts.ends.values()):
        stripped = mark.strip()
        plain = stripped.replace(" ", "").rstrip(":").isalnum()
        if len(stripped) >= 5 and not plain and "\n" not in stripped:
            yield stripped


def _known(inner: Any, facts: TemplateFacts | None) -> set[str]:
    """Return the marks that are tokens, or of the template."""
    vocabulary: Mapping[str, int] = getattr(inner, "get_vocab", dict)()
    own = (*facts.openings.values(), *facts.ends.values()) if facts else ()
    written = " ".join(own)
    return {m for m in (*OPENINGS, *ENDS) if m in vocabulary or m in written}


Searches = list[tuple[str, re.Pattern[str]]]


def _searches(marks: Iterable[str]) -> Searches:
    """Group strings by their first character, which is looked for first."""
    groups: dict[str, list[str]] = {}
    for mark in sorted(marks, key=len, reverse=True):
        groups.setdefault(mark[0], []).append(re.escape(mark))
    return [(first, re.compile("|".join(each))) for first, each in groups.items()]


def _first(searches: Searches, text: str) -> tuple[int, str] | None:
    for first, search in searches:
        if first in text and (found := search.search(text)):
            return found.start(), found.group()
    return None
