"""Templates as a user names them: by text, by tokenizer, by folder of an adapter."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ftlab.probes.templates.compare import compare_templates, templates_in
from ftlab.probes.templates.inputs import template_of, variables_of
from ftlab.probes.templates.shape import TRIED
from ftlab.records.errors import BadValueError
from ftlab.records.rendering import Refusal
from ftlab.records.template_words import short


def is_source(given: Any) -> bool:
    """Whether a template stands in a tokenizer, or in a folder.

    Examples
    --------
    >>> from ftlab.session.template_sources import is_source
    >>> is_source("."), is_source("{{ messages }}"), is_source("tool_use")
    (True, False, False)
    """
    if isinstance(given, str):
        with contextlib.suppress(OSError, ValueError):  # a text that is no path
            return "{" not in given and Path(given).is_dir()
        return False
    return isinstance(given, os.PathLike) or hasattr(given, "chat_template")


def as_texts(template: Any) -> Any:
    """Put the templates' texts where tokenizers and folders were named.

    Raises
    ------
    BadValueError
        A folder or a tokenizer holds no chat template.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.session.template_sources import as_texts
    >>> as_texts({"base": SimpleNamespace(chat_template="{{ 1 }}"), "mine": "{{ 2 }}"})
    {'base': '{{ 1 }}', 'mine': '{{ 2 }}'}
    """
    if not isinstance(template, Mapping):
        found = _read("", template)
        return found if len(found) > 1 else next(iter(found.values()))
    texts: dict[str, Any] = {}
    for name, each in template.items():
        texts |= _read(str(name), each)
    return texts


def _read(name: str, given: Any) -> dict[str, Any]:
    """Return the template of one source by its name; two where its files disagree."""
    if isinstance(given, str) and "{" not in given and os.sep in given:
        _refuse_missing(given)
    if not is_source(given):
        return {name: given}
    if isinstance(given, str | os.PathLike):
        return _in_folder(name, Path(given))
    text = template_of(given)
    if isinstance(text, Refusal):
        msg = f"template={name or 'a tokenizer'}: {text.words}."
        raise BadValueError(msg)
    return {name: text}


def _refuse_missing(path: str) -> None:
    """Refuse a path to nothing: as a template it would say itself, and no message."""
    with contextlib.suppress(OSError, ValueError):
        if Path(path).is_dir():
            return
    msg = (
        f"template={path!r} is neither a folder nor a template; allowed are a "
        "template's text, a tokenizer, or the folder of a model or adapter."
    )
    raise BadValueError(msg)


def _in_folder(name: str, folder: Path) -> dict[str, Any]:
    found = templates_in(folder)
    if not found:
        msg = (
            f"{folder} contains no chat template, neither chat_template.jinja nor one "
            "in tokenizer_config.json: tokenizer.save_pretrained(folder) writes it."
        )
        raise BadValueError(msg)
    if len(set(found.values())) == 1:
        return {name: next(iter(found.values()))}
    return {", ".join(filter(None, (name, file))): text for file, text in found.items()}


def comparisons(template: Any, texts: Any, tokenizer: Any) -> list[str]:
    """Say how the other templates differ from the first, where sources were named.

    Some conversations beyond those that are looked at are tried: with a system message,
    with tools, with several turns.
    """
    named = template.values() if isinstance(template, Mapping) else [template]
    if not isinstance(texts, Mapping) or not any(map(is_source, named)):
        return []
    special = variables_of(tokenizer, {})
    (first, text), *others = texts.items()
    return [
        f"{name}: {_said(first, compare_templates(text, other, **special))}"
        for name, other in others
    ]


def _said(first: str, found: Any) -> str:
    if isinstance(found, Refusal):
        return found.words
    if found.text is None:
        return f"the template of {first}"
    if not found.renderings:
        return f"another text than the template of {first}, which writes the same"
    where, difference = next(iter(found.renderings.items()))
    return (
        f"writes {len(found.renderings)} of {len(TRIED)} conversations that were tried "
        f"in another way than {first}; the {where}: {short(difference.right)} in place "
        f"of {short(difference.left)}, behind {difference.place:,} equal characters"
    )
