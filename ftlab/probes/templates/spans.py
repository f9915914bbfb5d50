"""Who wrote each character of a rendered conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ftlab.probes.templates.borders import Controls
from ftlab.probes.templates.inputs import as_given, template_of, variables_of
from ftlab.probes.templates.layout import Layout, Tails
from ftlab.probes.templates.marks import PLANS, TAG, Found, Marker, Plan, holds_marks
from ftlab.probes.templates.owners import Own, in_order, owned
from ftlab.probes.templates.shape import Shape, Source, shape_of
from ftlab.probes.templates.worker import Chat, renderer
from ftlab.records.rendering import Refusal, RenderedText
from ftlab.records.token_row import Rendering

_SHAPES: dict[str, Shape] = {}
_KEPT = 64
NEEDS = {
    "list content": "contents given as lists",
    "system": "a system message",
    "tools": "tools",
}
"""How `Shape.form` is said."""


def source_of(
    tokenizer: Any,
    *,
    template: str | None = None,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Source | Refusal:
    """Return the template that a tokenizer would use, and what it would be given."""
    text = template_of(tokenizer, template, tools)
    if isinstance(text, Refusal):
        return text
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    strings = getattr(inner, "added_tokens_encoder", None)
    controls = Controls(strings if isinstance(strings, Mapping) else ())
    given = variables_of(tokenizer, variables or {})
    return Source(text, given, controls, tools, documents)


def rendering_of(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    *,
    template: str | None = None,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    **variables: Any,
) -> Rendering | Refusal:
    r"""Render a conversation, and say who wrote each character.

    Parameters
    ----------
    tokenizer
        Whose template and special tokens are used; ``None`` with a ``template``.
    messages
        As for ``apply_chat_template``.
    template
        Another template, or the name of one of several.
    tools, documents, add_generation_prompt, variables
        Passed on to the template.

    Examples
    --------
    >>> from ftlab.probes.templates.spans import rendering_of
    >>> template = (
    ...     "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
    ... )
    >>> talk = [
    ...     {"role": "user", "content": "Hi"},
    ...     {"role": "assistant", "content": "."},
    ... ]
    >>> rendering = rendering_of(None, talk, template=template)
    >>> for span in rendering.spans:
    ...     print(span.part, repr(rendering.text[span.start : span.end]))
    header '<user>'
    text 'Hi'
    end '</s>'
    header '<assistant>'
    text '.'
    end '</s>'
    """
    source = source_of(
        tokenizer,
        template=template,
        tools=tools,
        documents=documents,
        variables=variables,
    )
    if isinstance(source, Refusal):
        return source
    given = as_given(tokenizer, messages)
    if isinstance(given, Refusal):
        return given
    return _Reading(source, given, add_generation_prompt).rendering()


class _Reading:
    """One conversation and its renderings, all of one moment."""

    def __init__(
        self, source: Source, messages: Sequence[Mapping[str, Any]], prompt: bool
    ) -> None:
        self._source = source
        self._messages = messages
        self._prompt = prompt
        self._now = datetime.now()
        used = {tag for tag in TAG.findall(_texts(messages)) if tag in source.template}
        self._tags = frozenset(used)
        self._tails: dict[int, str | None] = {}

    def rendering(self) -> Rendering | Refusal:
        """Render with and without marks, and lay out what stands between texts."""
        plain, *others = self._ask(self._firsts())
        if isinstance(plain, Refusal):
            return _with_needs(plain, self._source)
        unprompted = others.pop() if self._prompt else plain
        found, exact = self._found(plain.text, others[0])
        owns = in_order(self._messages, plain.text) if found is None else found
        tails = Tails(
            unprompted.text if isinstance(unprompted, RenderedText) else None,
            self._tail,
        )
        layout = Layout(plain.text, self._messages, self._source.controls)
        spans = layout.spans(owns, shape_for(self._source), tails, prompt=self._prompt)
        return Rendering(plain.text, spans, plain.generation, exact)

    def _firsts(self) -> list[Chat]:
        self._marker = Marker(Plan(tags=self._tags))
        marked = self._marker.marked(self._messages)
        chats = [self._chat(self._messages), self._chat(marked)]
        if self._prompt:
            chats.append(self._chat(self._messages, prompt=False))
        return chats

    def _chat(
        self, messages: Sequence[Mapping[str, Any]], prompt: bool | None = None
    ) -> Chat:
        source = self._source
        wanted = self._prompt if prompt is None else prompt
        return Chat(messages, source.tools, source.documents, wanted, source.variables)

    def _ask(self, chats: Sequence[Chat]) -> list[RenderedText | Refusal]:
        return renderer().render_all(self._source.template, chats, self._now)

    def _found(
        self, text: str, first: RenderedText | Refusal
    ) -> tuple[list[Own] | None, bool]:
        """Return where each text stands, if one way to mark them proves it."""
        if holds_marks([list(self._messages), self._source.template]):
            return None, False
        answer, marker = first, self._marker
        for plan in (*PLANS[1:], None):
            if isinstance(answer, RenderedText):
                rest, found = marker.read(answer.text)
                if rest == text:
                    return owned(text, found, self._stripped(found)), True
            if plan is None:
                break
            marker = self._marker = Marker(replace(plan, tags=self._tags))
            answer = self._ask([self._chat(marker.marked(self._messages))])[0]
        return None, False

    def _stripped(self, found: list[Found]) -> tuple[str, list[Found]] | None:
        """Render without outer whitespace, where a text has any."""
        edges = [f.stretch for f in found]
        if not any(_blank(e.before) or _blank(e.after[::-1]) for e in edges):
            return None
        marker = Marker(replace(self._marker.plan, strip=True))
        answer = self._ask([self._chat(marker.marked(self._messages))])[0]
        return marker.read(answer.text) if isinstance(answer, RenderedText) else None

    def _tail(self, message: int, last: str) -> str | None:
        """Return what stands behind a message where the conversation stops there."""
        if message not in self._tails:
            part = self._messages[: message + 1]
            answer = self._ask([self._chat(part, prompt=False)])[0]
            text = answer.text if isinstance(answer, RenderedText) else None
            known = text is not None and last in text
            self._tails[message] = text.rpartition(last)[2] if text and known else None
        return self._tails[message]


def shape_for(source: Source) -> Shape:
    """Return the shape of a template, learnt once for what it is given."""
    given = sorted(source.variables.items()), source.tools, source.controls.key
    key = repr((source.template, *given))
    if key not in _SHAPES:
        while len(_SHAPES) >= _KEPT:
            _SHAPES.pop(next(iter(_SHAPES)), None)
        _SHAPES[key] = shape_of(source)
    return _SHAPES[key]


def _with_needs(refusal: Refusal, source: Source) -> Refusal:
    """Say also what the template needs, where something else than this was rendered."""
    if refusal.kind not in ("failed", "raised", "undefined"):
        return refusal
    needs = " and ".join(NEEDS[each] for each in shape_for(source).form)
    words = f"{refusal.words}; conversations with {needs} are rendered"
    return Refusal(refusal.kind, words) if needs else refusal


def _blank(text: str) -> bool:
    return text[:1].isspace()


def _texts(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(map(_texts, value.values()))
    return "\n".join(map(_texts, value)) if isinstance(value, list | tuple) else ""
