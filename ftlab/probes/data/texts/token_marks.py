"""Control strings within texts: special tokens, and what tells speakers apart."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ftlab.probes.data.answers.answer_faults import Placed, is_answer
from ftlab.probes.data.answers.answer_marks import WRITTEN
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.texts.glance import Glance
from ftlab.probes.data.texts.text_faults import TextFault
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.records.template import TemplateFacts

INSTRUCTIONS = ("### Instruction:", "### Response:", "### Input:")
"""Marks of the form in which pairs without messages are mostly written."""

_MEDIA = re.compile(
    "image|img|video|audio|vision|patch|object|box|quad|point", re.IGNORECASE
)
"""Tokens that stand for a picture or a sound belong into a text."""


class TokenMarks:
    """Looks for control strings.

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
    words
        All strings that are looked for: a glance tells which of them a row holds.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.texts.glance import Glances
    >>> from ftlab.probes.data.texts.token_marks import TokenMarks
    >>> marks = TokenMarks(SimpleNamespace(all_special_tokens=["<|end|>"]))
    >>> row = parts_of({"messages": [{"role": "user", "content": "a<|end|>"}]})
    >>> glance = Glances(marks.words).at(row)
    >>> [fault for _, fault in marks.faults(row, glance)]
    [TextFault(name='special-token-in-content', char=1, says="'<|end|>'")]
    """

    def __init__(self, tokenizer: Any, facts: TemplateFacts | None = None) -> None:
        special = set(_special(text_tokenizer(tokenizer)))
        named = {s for s in special if len(s) > 1 and not _MEDIA.search(s)}
        roles = set(_role_marks(facts)) - special
        self.words = frozenset(named.union(roles, INSTRUCTIONS))
        self.ended = 0
        self._ends = tuple(special)
        self._special, self._roles = _searches(named), _searches(roles)
        self._written = _searches(INSTRUCTIONS)

    def faults(self, row: RowParts, glance: Glance) -> Iterator[Placed]:
        """Yield the control strings that stand in the texts of a row.

        Parameters
        ----------
        glance
            What was seen of the row, by one who looked for `words` as well.
        """
        if row.kind == "text":
            yield from self._ending(row, len(row.parts) - 1)
            return
        talk = row.kind == "messages"
        held = bool(glance.words) and not glance.words.isdisjoint(self.words)
        if talk and not held:
            return
        name = "special-token-in-content" if talk else "special-token-in-text"
        tokens = self._special if held else []
        roles = (self._roles if talk else self._written) if held else []
        for at, part in enumerate(row.parts):
            special = _first(tokens, part.text)
            if special and (talk or not _ends(special, part)):
                yield part, TextFault(name, special[0], repr(special[1]))
            elif (found := _first(roles, part.text)) and not _is_before(found, part):
                # a text rendered before has both, and one cause
                yield part, TextFault("role-mark-in-content", found[0], repr(found[1]))
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


def _ends(found: tuple[int, str], part: Part) -> bool:
    """Tell whether the token is the end of an answer."""
    at, mark = found
    return is_answer(part) and at + len(mark) >= len(part.text.rstrip())


def _is_before(found: tuple[int, str], part: Part) -> bool:
    """Tell whether the mark was left before an answer, which is a kind of its own."""
    at, mark = found
    left = mark == WRITTEN and is_answer(part) and not part.text[:at].strip()
    return left and bool(part.text[at + len(mark) :].strip())


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


def _searches(marks: Iterable[str]) -> list[tuple[str, re.Pattern[str]]]:
    """Group strings by their first character, which is looked for first."""
    groups: dict[str, list[str]] = {}
    for mark in sorted(marks, key=len, reverse=True):
        groups.setdefault(mark[0], []).append(re.escape(mark))
    return [(first, re.compile("|".join(each))) for first, each in groups.items()]


def _first(
    searches: list[tuple[str, re.Pattern[str]]], text: str
) -> tuple[int, str] | None:
    for first, search in searches:
        if first in text and (found := search.search(text)):
            return found.start(), found.group()
    return None
