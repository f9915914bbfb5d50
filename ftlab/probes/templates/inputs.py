"""What a template is given, as JSON: messages, tools, documents and variables."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.records.rendering import Refusal

DEEPEST = 60
"""Levels of lists within lists; no conversation has ten."""


class NotPlainError(ValueError):
    """Something among the messages cannot be written as JSON; says what and where."""


def plain(value: Any, place: str, depth: int = 0) -> Any:
    """Return a value as JSON can hold it.

    Numbers of NumPy become Python's, and functions the schemas that transformers makes
    of tools.

    Raises
    ------
    NotPlainError
        Naming the place: ``messages[1].content[0].image is an Image``.

    Examples
    --------
    >>> from ftlab.probes.templates.inputs import plain
    >>> plain([{"role": "user", "content": b"raw"}], "messages")
    Traceback (most recent call last):
    ...
    ftlab.probes.templates.inputs.NotPlainError: messages[0].content is a bytes, ...
    """
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value) if type(value) is not kind else value
    if depth > DEEPEST:
        msg = f"{place} holds itself, or more than {DEEPEST} levels"
        raise NotPlainError(msg)
    if isinstance(value, Mapping):
        return {
            _key(key, place): plain(each, f"{place}.{key}", depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(v, f"{place}[{i}]", depth + 1) for i, v in enumerate(value)]
    return _other(value, place)


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        msg = f"{place} has the key {key!r}, which is no text"
        raise NotPlainError(msg)
    return str(key)


def _other(value: Any, place: str) -> Any:
    if inspect.isfunction(value) or inspect.ismethod(value):
        return _schema(value, place)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    kind = type(value).__name__
    msg = f"{place} is a {kind}, which a template cannot be given"
    raise NotPlainError(msg)


def _schema(function: Any, place: str) -> Any:
    from transformers.utils import get_json_schema

    try:
        return get_json_schema(function)
    except Exception as error:
        msg = f"{place} cannot be described as a tool: {error}"
        raise NotPlainError(msg) from error


def template_of(
    tokenizer: Any, template: str | None = None, tools: Sequence[Any] | None = None
) -> str | Refusal:
    """Return the text of the template that ``apply_chat_template`` would use.

    Parameters
    ----------
    tokenizer
        A tokenizer or a processor; ``None`` where ``template`` is a text.
    template
        A text, or the name of one of several.
    """
    chooser = getattr(tokenizer, "get_chat_template", None)
    if chooser is None:
        if template is None:
            template = getattr(tokenizer, "chat_template", None)
        if isinstance(template, str):
            return template
        return Refusal("no template", "there is no chat template")
    try:
        chosen = chooser(template, tools)
    except NotImplementedError:
        if template is not None:
            return template
        kind = type(tokenizer).__name__
        words = f"a {kind} writes conversations by code of its own, without a template"
        return Refusal("no template", words)
    except Exception as error:  # noqa: BLE001  of code that is not ours
        said = " ".join(str(error).split()).partition(". ")[0]
        return Refusal("no template", said.partition(" For information")[0])
    if isinstance(chosen, str):
        return chosen
    return Refusal(
        "input", f"a template is a text, and this is a {type(chosen).__name__}"
    )


def variables_of(tokenizer: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what transformers passes on beside the messages: special tokens."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)  # that of a processor
    special = getattr(inner, "special_tokens_map", None)
    held = special if isinstance(special, Mapping) else {}
    return {**{str(k): _as_text(v) for k, v in held.items()}, **given}


def _as_text(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_text(each) for each in value]
    return str(value)


def as_given(
    tokenizer: Any, messages: Sequence[Any]
) -> list[Mapping[str, Any]] | Refusal:
    """Leave out what is ``None``, where this transformers does so before rendering.

    Examples
    --------
    >>> from ftlab.probes.templates.inputs import as_given
    >>> print(as_given(None, ["Hi"]).words)
    messages[0] is a str, not a dictionary with a role
    """
    if not messages or isinstance(messages, str | Mapping):
        return Refusal("input", "a conversation is a list of at least one message")
    for index, each in enumerate(messages):
        if not isinstance(each, Mapping):
            kind = type(each).__name__
            words = f"messages[{index}] is a {kind}, not a dictionary with a role"
            return Refusal("input", words)
    if not any(v is None for m in messages for v in m.values()):
        return list(messages)
    if not _leaves_out_none(tokenizer):
        return list(messages)
    return [{k: v for k, v in m.items() if v is not None} for m in messages]


def _leaves_out_none(tokenizer: Any) -> bool:
    asked = {"role": "user", "content": None}
    seen = "{{ 'content' in messages[0] }}"
    try:
        said = tokenizer.apply_chat_template(
            [asked], chat_template=seen, tokenize=False
        )
    except Exception:  # noqa: BLE001  of code that is not ours
        return False
    return bool(said == "False")
