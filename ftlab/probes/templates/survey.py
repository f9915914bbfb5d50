"""What a chat template does to messages, found by rendering some."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ftlab.probes.templates.borders import common
from ftlab.probes.templates.child import MARKED
from ftlab.probes.templates.shape import ANSWERS, QUESTIONS, SYSTEM, Shape, Source, ask
from ftlab.probes.templates.spans import shape_for, source_of
from ftlab.probes.templates.traits import AGAIN, LATER, PROBES, Said
from ftlab.probes.templates.vocabulary import Vocabulary
from ftlab.records.rendering import Refusal, RenderedText
from ftlab.records.template import TemplateFacts
from ftlab.records.template_comparison import Difference

SHOWN = 80
"""Characters of each side of a difference."""

_NAMED = (
    *((text, "{question}") for text in QUESTIONS),
    *((text, "{answer}") for text in ANSWERS),
    (SYSTEM, "{system}"),
)


def survey(
    tokenizer: Any,
    model: Any = None,
    *,
    template: str | None = None,
    tools: Sequence[Any] | None = None,
    **variables: Any,
) -> TemplateFacts:
    r"""Find out what a tokenizer's chat template does.

    Some thirty short conversations are rendered in the worker process; the tokenizer is
    asked how long its control strings are.

    Parameters
    ----------
    tokenizer
        A tokenizer or a processor; ``None`` with a ``template``.
    model
        Whose configuration says at which ids a generation ends.
    template
        Another template, or the name of one of several.
    tools, variables
        What the template is given with every conversation.

    Examples
    --------
    >>> from ftlab.probes.templates.survey import survey
    >>> template = (
    ...     "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}"
    ... )
    >>> facts = survey(None, template=template)
    >>> facts.openings["user"], facts.ends["user"]
    ('<user>', '\n')
    >>> print(facts.words[0])
    nothing but '\n' ends the last answer: a model trained on it does not learn to ...
    """
    source = source_of(tokenizer, template=template, tools=tools, variables=variables)
    if isinstance(source, Refusal):
        return TemplateFacts(refused=source)
    return try_out(source).facts(tokenizer, model)


@dataclass(frozen=True, slots=True)
class Tried:
    """A template and what it made of the short conversations.

    Attributes
    ----------
    shape
        How it opens and ends turns.
    said
        What becomes of messages; empty where the template writes no turns.
    later
        The same conversations at another time.
    unsettled
        Whether a conversation is not the same text each time.
    """

    source: Source
    shape: Shape
    said: Said
    later: Mapping[str, RenderedText | Refusal]
    unsettled: bool = False

    def facts(self, tokenizer: Any, model: Any = None) -> TemplateFacts:
        """Ask the tokenizer what it makes of it; nothing is rendered any more."""
        return _facts(self, tokenizer, model)


def try_out(source: Source) -> Tried:
    """Render the short conversations, all that a survey needs."""
    shape = shape_for(source)
    if not shape.openings:
        return Tried(source, shape, Said(shape, {}), {})
    said = Said(shape, ask(source, PROBES, shape.form))
    if said.unsettled(ask(source, AGAIN, shape.form)):
        return Tried(source, shape, said, {}, unsettled=True)
    later = ask(source, LATER, shape.form, moment=Said.ANOTHER)
    return Tried(source, shape, said, later)


def _facts(tried: Tried, tokenizer: Any, model: Any) -> TemplateFacts:
    source, shape, said = tried.source, tried.shape, tried.said
    digest = hashlib.sha256(source.template.encode("utf-8", "replace")).hexdigest()[:16]
    if not shape.openings:
        return TemplateFacts(digest, _refused(shape), _refusals(shape.said))
    words = Vocabulary(tokenizer, source.controls)
    ids = words.ids(shape)
    return TemplateFacts(
        digest=digest,
        refusals=_refusals({**shape.said, **said.rendered}),
        form=shape.form,
        beginning=shape.beginning,
        openings=shape.openings,
        ends=shape.ends,
        last_ends=shape.last_ends,
        opening_ids=ids["opening_ids"],
        end_ids=ids["end_ids"],
        last_end_ids=ids["last_end_ids"],
        generation_prompt=shape.generation_prompt,
        unasked_prompt=bool(shape.unasked),
        stops=words.stops(shape, model),
        unsettled=tried.unsettled,
        prompt_difference=_prompt_difference(tried),
        history_difference=_history_difference(tried),
        system_text="" if tried.unsettled else _system_text(shape, source),
        system_kept=_system_kept(shape, source),
        date=said.date(tried.later),
        drops=said.drops(),
        reasoning_end=said.reasoning_end(),
        reprs=said.reprs(),
        trims=said.trims(),
        alternation=said.alternation(),
        system_first=said.system_first(),
        generation_marks=MARKED.search(source.template) is not None,
        marks_cover_end=_marks_cover_end(shape, source),
        pieces=words.pieces(shape),
        swallowed=words.swallowed(shape),
        repeats_bos=words.repeats_bos(shape.text("answer") or ""),
    )


def _refused(shape: Shape) -> Refusal:
    answer = shape.said["answer"]
    if isinstance(answer, Refusal):
        return answer
    if QUESTIONS[0].casefold() in answer.text.casefold():
        return Refusal("turns", "rewrites what user and assistant say")
    return Refusal("turns", "writes nothing of what user and assistant say")


def _refusals(said: Mapping[str, RenderedText | Refusal]) -> dict[str, str]:
    return {k: r.words for k, r in said.items() if isinstance(r, Refusal)}


def first_difference(left: str, right: str, source: Source) -> Difference | None:
    """Return where two texts go apart; ``None`` where the first begins the second."""
    place = common(left, right)
    if place == len(left):
        return None
    place = min(source.controls.safe(left, place), source.controls.safe(right, place))
    return Difference(place, _shown(left[place:]), _shown(right[place:]))


def _shown(text: str) -> str:
    """Name the texts of the conversations that were tried, and cut the rest off."""
    for probe, name in _NAMED:
        text = text.replace(probe, name)
    return text[:SHOWN]


def _prompt_difference(tried: Tried) -> Difference | None:
    shape = tried.shape
    prompt, answer = shape.text("prompt"), shape.text("answer")
    if prompt is None or answer is None or tried.unsettled:
        return None
    return first_difference(prompt, answer, tried.source)


def _history_difference(tried: Tried) -> Difference | None:
    shape = tried.shape
    first, longer = shape.text("answer"), shape.text("conversation")
    if first is None or longer is None or tried.unsettled:
        return None
    kept = first.removesuffix(shape.unasked)
    kept = kept.removesuffix(shape.last_ends["assistant"])
    return first_difference(kept, longer, tried.source)


def _system_text(shape: Shape, source: Source) -> str:
    """Return what a conversation without a system message begins with in words."""
    text = shape.text("answer") or ""
    before = text.partition(QUESTIONS[0])[0]
    if "system" in shape.form and SYSTEM in before:
        before = before.partition(SYSTEM)[2]
    opening = shape.openings["user"]
    before = before.removesuffix(opening) if opening else before
    before = before.removeprefix(str(source.variables.get("bos_token") or ""))
    own = shape.openings.get("system", "")
    if own and own in before:
        inside = before.partition(own)[2].removesuffix(shape.ends.get("system", ""))
        return inside.strip() or before.strip()
    return before.strip() if source.controls.rest(before) else ""


def _system_kept(shape: Shape, source: Source) -> bool:
    """Say whether a system turn of its own stands beside that of a message."""
    bos = str(source.variables.get("bos_token") or "")
    own = shape.beginning.removeprefix(bos)
    text = shape.text("system") or shape.text("system question") or ""
    told = text.partition(QUESTIONS[0])[0].removeprefix(bos)
    if "system" in shape.form or not _system_text(shape, source) or own not in told:
        return False
    opening = told.replace(own, "", 1).partition(SYSTEM)[0]
    return bool(opening.strip()) and own.startswith(opening)


def _marks_cover_end(shape: Shape, source: Source) -> bool | None:
    """Say whether what is marked as generated holds the token that ends an answer."""
    answer = shape.said.get("answer")
    inside = source.controls.inside(shape.last_ends.get("assistant", ""))
    if not isinstance(answer, RenderedText) or MARKED.search(source.template) is None:
        return None
    if not inside:
        return None
    place = answer.text.rfind(ANSWERS[0]) + len(ANSWERS[0])
    stop = answer.text.index(inside[0], place)
    return any(a <= stop < b for a, b in answer.generation)
