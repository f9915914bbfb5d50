"""What a chat template does, in sentences for a person who trains with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ftlab.records.template import TemplateFacts

DROPPED = {
    "system": "system messages are",
    "developer": "developer messages are",
    "user": "the user's messages are",
    "assistant": "answers are",
    "system once answered": "system messages of answered conversations are",
    "reasoning": "reasoning is",
    "reasoning in history": "the reasoning of earlier answers is",
    "tool calls": "tool calls are",
    "tool results": "results of tools are",
    "tools": "the tools on offer are",
    "list content": "contents given as lists are",
    "text content": "contents given as texts are",
}
"""How each of `TemplateFacts.drops` begins a sentence."""


def words_of(facts: TemplateFacts) -> Iterator[str]:
    """Yield a sentence for each thing worth knowing, without a full stop."""
    yield from _ends(facts)
    yield from _contents(facts)
    yield from _differences(facts)
    yield from _vocabulary(facts)


def _ends(facts: TemplateFacts) -> Iterator[str]:
    terminator = facts.terminator
    within = facts.ends.get("assistant", terminator)
    if not terminator.strip():
        behind = f" but {terminator!r}" if terminator else ""
        others = f" ({short(within)} ends those before it)" if within.strip() else ""
        yield (
            f"nothing{behind} ends the last answer{others}: a model trained on it does "
            "not learn to stop"
        )
    elif terminator != terminator.rstrip():
        space = terminator[len(terminator.rstrip()) :]
        yield f"{space!r} stands behind the end of the last answer"
    if terminator.strip() and within.strip() != terminator.strip():
        yield (
            f"answers end with {short(within)} where turns follow, and with "
            f"{short(terminator)} at the end"
        )
    if facts.unasked_prompt:
        yield (
            f"the generation prompt {short(facts.generation_prompt)} is written "
            "behind finished answers too"
        )


def _contents(facts: TemplateFacts) -> Iterator[str]:
    if facts.system_text:
        beside = ", beside a system message too" if facts.system_kept else ""
        yield f"a system text of its own is added: {short(facts.system_text)}{beside}"
    if facts.date:
        yield f"the date of the day is written, in the form of {short(facts.date)}"
    for what in facts.drops:
        yield f"{DROPPED.get(what, what + ' are')} left out without a word"
    for what in facts.reprs:
        yield f"{what} printed in the notation of Python"
    if facts.trims:
        roles = ", ".join(facts.trims)
        yield f"outer whitespace is stripped from the texts of {roles}"
    if facts.alternation:
        yield "user and assistant have to take turns"
    if facts.system_first:
        yield "a system message has to be the first"


def _differences(facts: TemplateFacts) -> Iterator[str]:
    prompt, history = facts.prompt_difference, facts.history_difference
    if facts.unsettled:
        yield (
            "a conversation is another text each time it is written, so that what is "
            "served is not what was trained"
        )
    if prompt is not None:
        yield (
            "a prompt is no beginning of the training text: served "
            f"{short(prompt.left)}, trained {short(prompt.right)}"
        )
    if history is not None:
        yield (
            f"an answer is written in another way once turns follow: first "
            f"{short(history.left)}, then {short(history.right)}"
        )
    if facts.marks_cover_end is False:
        yield "what it marks as generated stops before the token that ends an answer"


def _vocabulary(facts: TemplateFacts) -> Iterator[str]:
    broken = {text: count for text, count in facts.pieces.items() if count > 1}
    if broken:
        listed = ", ".join(
            f"{text!r} ({count} pieces)" for text, count in broken.items()
        )
        yield f"no tokens of this vocabulary: {listed}"
    for text, space in facts.swallowed.items():
        yield f"the tokenizer takes {space!r} away beside {text!r}"
    if facts.repeats_bos:
        yield "it begins with BOS, which the tokenizer adds once more to a plain text"


def short(text: str) -> str:
    """Quote a text, or its beginning.

    Examples
    --------
    >>> from ftlab.records.template_words import short
    >>> short("a" * 60)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"
    """
    return repr(text if len(text) <= 48 else text[:45] + "...")
