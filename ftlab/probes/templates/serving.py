"""What a model is trained on, against what it is served with."""

from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.probes.templates.borders import common
from ftlab.probes.templates.inputs import as_given
from ftlab.probes.templates.shape import Source
from ftlab.probes.templates.spans import rendering_of, source_of
from ftlab.probes.templates.worker import Chat, renderer
from ftlab.records.rendering import Refusal, RenderedText
from ftlab.records.template_comparison import ServedTurn
from ftlab.records.token_row import Rendering

WRITTEN = ("text", "reasoning", "tool call")
"""The parts of an answer that a model has to write."""

ANSWERS = 32
"""Answers of one conversation that are compared: each renders all before it."""


def serving_of(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    *,
    template: str | None = None,
    served_template: str | None = None,
    tools: Sequence[Any] | None = None,
    served_with: Mapping[str, Any] | None = None,
    **variables: Any,
) -> tuple[ServedTurn, ...] | Refusal:
    r"""Compare, for each answer, the training text before it with the prompt served.

    Parameters
    ----------
    template, variables
        What training renders with.
    served_template, served_with
        What serving renders with, where that is not the same.

    Examples
    --------
    >>> from ftlab.probes.templates.serving import serving_of
    >>> template = (
    ...     "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    ...     "{% if add_generation_prompt %}<assistant><think>{% endif %}"
    ... )
    >>> talk = [
    ...     {"role": "user", "content": "Hi"},
    ...     {"role": "assistant", "content": "."},
    ... ]
    >>> for turn in serving_of(None, talk, template=template):
    ...     print(turn)
    message 1: from 19 on, served '<think>', trained ''
    """
    trained = rendering_of(
        tokenizer, messages, template=template, tools=tools, **variables
    )
    source = source_of(
        tokenizer,
        template=served_template if served_template is not None else template,
        tools=tools,
        variables={**variables, **(served_with or {})},
    )
    if isinstance(trained, Refusal):
        return trained
    if isinstance(source, Refusal):
        return source
    given = as_given(tokenizer, messages)
    if isinstance(given, Refusal):
        return given
    answers = compared(given)
    prompts = renderer().render_all(
        source.template, [_prompt(source, given[:i]) for i in answers]
    )
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    known = _ids(inner, trained.text)
    return tuple(
        _turn(i, trained, known, prompt.text, inner)
        for i, prompt in zip(answers, prompts, strict=True)
        if isinstance(prompt, RenderedText)
    )


def compared(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return which answers are compared: all, or `ANSWERS` from the first to the last.

    Examples
    --------
    >>> from ftlab.probes.templates.serving import compared
    >>> compared([{"role": "user"}, {"role": "assistant"}])
    [1]
    """
    answers = answers_in(messages)
    if len(answers) <= ANSWERS:
        return answers
    chosen = {round(k * (len(answers) - 1) / (ANSWERS - 1)) for k in range(ANSWERS)}
    return [answers[at] for at in sorted(chosen)]


def answers_in(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the numbers of the messages that answer to others."""
    return [i for i, m in enumerate(messages) if m.get("role") == "assistant" and i]


def _prompt(source: Source, messages: Sequence[Mapping[str, Any]]) -> Chat:
    return Chat(messages, source.tools, source.documents, True, source.variables)


def _turn(
    message: int, trained: Rendering, ids: list[int], prompt: str, tokenizer: Any
) -> ServedTurn:
    starts = [
        span.start
        for span in trained.spans
        if span.message == message and span.part in WRITTEN
    ]
    known = [span.end for span in trained.spans if span.message == message]
    start = min(starts or known or [len(trained.text)])
    same = common(prompt, trained.text)
    if same == len(prompt):
        # An answer may begin with what serving leaves to the model to write.
        rest = trained.text[same : max(start, same)]
        return _by_tokens(message, prompt, ids, rest, tokenizer)
    left = _ids(tokenizer, prompt)
    place = common(left, ids) if left else same
    return ServedTurn(
        message, False, place, prompt[same:], trained.text[same : max(start, same)]
    )


def _by_tokens(
    message: int, prompt: str, ids: list[int], rest: str, tokenizer: Any
) -> ServedTurn:
    left = _ids(tokenizer, prompt)
    place = common(left, ids)
    merged = place < len(left)
    place = place if left else len(prompt)
    return ServedTurn(message, not merged, place, trained=rest, merged=merged)


def _ids(tokenizer: Any, text: str) -> list[int]:
    if tokenizer is None:
        return []
    try:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    except Exception:  # noqa: BLE001  of code that is not ours
        return []
