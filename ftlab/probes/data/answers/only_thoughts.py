"""Answers that are reasoning alone: never closed, or with nothing behind it."""

import re

from ftlab.probes.data.texts.text_faults import TextFault

_OPENED = ("<think>", "<thinking>", "<reasoning>")
_CLOSED = ("</think>", "</thinking>", "</reasoning>")

MARKS = (*_OPENED, *_CLOSED)

_ANSWERED = re.compile(r"\\boxed ?\{|\b(?:final )?answer(?: is\b|:)", re.IGNORECASE)
LAST = 200
"""Characters at the end of a text that comes to an answer, where these words stand."""

WORDS = 4
"""Words of a last line from which on it is no answer of its own."""

_OF_MARKS = re.compile(
    r"[`'\"]| (?:is|are|was|marks?|opens?|begins?|starts?|stands?|means?|tells?|tags?"
    r"|tokens?|blocks?|and|or)\b"
)
"""What follows a mark that is spoken of."""


def only_thought(text: str) -> TextFault | None:
    r"""Return what is missing behind the reasoning of an answer.

    Examples
    --------
    >>> from ftlab.probes.data.answers.only_thoughts import only_thought
    >>> only_thought("<think>\nIt is 2 + 3.\n\nThat makes 5.").says
    '<think> is never closed'
    >>> only_thought("<think>\nIt is 2 + 3.\n</think>").says
    'nothing behind the reasoning'
    >>> only_thought("<think>\nIt is 2 + 3.\n</think>\n\nThat makes 5.")
    """
    said = text.strip()
    if said.endswith(_CLOSED) or said in _OPENED:
        says = f"{said} alone" if said in _OPENED else "nothing behind the reasoning"
        return TextFault("reasoning-without-answer", 0, says)
    for opened, closed in zip(_OPENED, _CLOSED, strict=True):
        if not said.startswith(opened) or closed in said:
            continue
        if _OF_MARKS.match(said, len(opened)):
            return None
        says = f"{opened} is never closed{_end_of(said)}"
        return TextFault("reasoning-never-closed", 0, says)
    return None


def _end_of(said: str) -> str:
    """Say what the end of reasoning tells of the answer; ``""`` where nothing."""
    if _ANSWERED.search(said[-LAST:]):
        return ", and comes to an answer"
    cut = said.endswith(",") or said[-1].isalpha()
    if cut and len(said.rpartition("\n")[2].split()) >= WORDS:
        return ", and breaks off"
    return ""
