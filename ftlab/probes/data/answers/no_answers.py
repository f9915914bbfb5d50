"""Answers that are none: what stands for a missing one, errors, marks, reasoning."""

import re
from collections.abc import Iterator, Set as AbstractSet

from ftlab.probes.data.answers.answer_faults import Placed, asks_about, is_answer
from ftlab.probes.data.answers.failed_requests import (
    MESSAGE,
    failed_request,
    may_have_failed,
)
from ftlab.probes.data.answers.model_voices import of_model
from ftlab.probes.data.answers.only_thoughts import MARKS, only_thought
from ftlab.probes.data.rows.layout_names import FURTHER
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.texts.error_pages import error_page
from ftlab.probes.data.texts.text_faults import TextFault

SHORT = 80
"""Characters up to which a text may be a placeholder."""

MISSING = frozenset(
    {"nan", "NaN", "NAN", "<NA>", "NaT", "undefined"}
    | {"#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!"}
)
"""What programs write where a value is missing."""

_LATER = frozenset({"TODO", "TBD", "FIXME", "TODO.", "PLACEHOLDER"})
"""What people write who mean to answer later."""

_OF_VALUES = re.compile(
    r"\bnan\b|\bnat\b|undefined|javascript|typescript|\bjs\b|console\.log|typeof"
    r"|float\(|excel|spreadsheet|\bcell\b|formula|=[A-Z]+\(",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by a value that is none."""

_PLACEHOLDER = re.compile(
    r"\{\{? ?(?:answer|output|response|completion|text|content|result|solution|label"
    r"|target|reply) ?\}\}?"
    r"|[\[<] ?(?:insert|put|write|add|enter|type|place|your) (?:[\w']+ ){0,5}"
    r"(?:here|answer|response|text|output) ?[\]>]"
    r"|your (?:answer|response) (?:goes )?here\.?"
    r"|(?:answer|response|output) (?:goes )?here\.?"
    r"|\[object Object\]",
    re.IGNORECASE,
)
"""What a template leaves of an answer that was not filled in."""

_OF_PAGES = re.compile(
    r"\berrors?\b|\bpages?\b|html|status code|web ?site|nginx|apache|cloudflare"
    r"|captcha|forbidden|denied|cookies?\b|\b[45]\d\d\b|\b(?:the|this|a) server\b",
    re.IGNORECASE,
)
"""A text beside a page of an error with one of these may be about it."""

LOREM = "Lorem ipsum dolor sit amet"

_MARK = re.compile(
    r"(?:#{1,4} ?|\*\*)?(?:(?:the )?answer|response|assistant|ai|bot|gpt|output"
    r"|solution|completion) ?:(?:\*\*)?|<\|assistant\|>|<\|im_start\|>assistant",
    re.IGNORECASE,
)
_MARK_AT_END = re.compile(
    r"(?:^|\n)(?:#{2,4} ?(?:answer|response|assistant|output|solution):?"
    r"|assistant:)\s*\Z",
    re.IGNORECASE,
)
"""A mark that an answer follows, as the last line of a text."""


def no_answers(row: RowParts, words: AbstractSet[str]) -> Iterator[Placed]:
    """Yield the answers that say nothing, and inputs that are a missing value.

    Parameters
    ----------
    words
        Which of the words of a glance stand in the row.

    Examples
    --------
    >>> from ftlab.probes.data.answers.no_answers import no_answers
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "Why is that so?", "completion": "{answer}"})
    >>> [(part.where, fault.name) for part, fault in no_answers(row, set())]
    [('completion', 'placeholder-answer')]
    """
    for part in row.answers:
        fault = _fault_of(part, row, words)
        if fault is not None:
            yield part, fault
    for part in row.parts if row.kind != "messages" else ():
        if part.column in FURTHER and not is_answer(part):
            if part.text in MISSING:
                yield part, TextFault("missing-value-as-input", 0, repr(part.text))
            elif fault := _page(part, row):
                yield part, fault
    if row.kind == "text" and (fault := _of_text(row.parts[0].text)):
        yield row.parts[0], fault


def _page(part: Part, row: RowParts) -> TextFault | None:
    """Find a page of an error, which nothing beside it speaks of."""
    says = error_page(part.text)
    others = [each.text for each in row.parts if each is not part]
    if not says or any(map(_OF_PAGES.search, others)):
        return None
    return TextFault("error-page-as-text", 0, says)


def _of_text(text: str) -> TextFault | None:
    if says := error_page(text):
        return TextFault("error-page-as-text", 0, says)
    found = _mark_at_end(text)
    return found and TextFault("answer-behind-mark", found[0], found[1])


def _fault_of(part: Part, row: RowParts, words: AbstractSet[str]) -> TextFault | None:
    text = part.text
    if part.says_more:
        return None
    if len(text) <= MESSAGE or text.startswith("<"):
        said = text.strip()
        fault = _placeholder(said, row) if len(said) <= SHORT else None
        if fault is None and may_have_failed(said, words):
            fault = failed_request(said, part, row)
        if fault is not None:
            return fault
    if fault := _page(part, row):
        return fault
    if words and not words.isdisjoint(MARKS) and (fault := only_thought(text)):
        return fault
    if LOREM in words and text.startswith(LOREM):
        return TextFault("placeholder-answer", 0, f"begins with {LOREM!r}")
    return of_model(part, row, words)


def _placeholder(text: str, row: RowParts) -> TextFault | None:
    if text in MISSING:
        meant = asks_about(row, _OF_VALUES)
        return None if meant else TextFault("missing-value-as-answer", 0, repr(text))
    if text in _LATER:
        return TextFault("placeholder-answer", 0, repr(text))
    if _MARK.fullmatch(text):
        return TextFault("answer-behind-mark", 0, f"nothing behind {text!r}")
    if _PLACEHOLDER.fullmatch(text):
        return TextFault("placeholder-answer", 0, repr(text))
    return None


def _mark_at_end(text: str) -> tuple[int, str] | None:
    if not text.rstrip().endswith((":", "nse", "wer", "ant", "put", "ion")):
        return None
    found = _MARK_AT_END.search(text, max(0, len(text) - SHORT))
    return found and (found.start(), f"nothing behind {found.group().strip()!r}")
