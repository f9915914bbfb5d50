"""Two templates side by side: of a tokenizer, a base model, an adapter's folder."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ftlab.probes.templates.shape import TRIED, Source, in_form
from ftlab.probes.templates.spans import shape_for, source_of
from ftlab.probes.templates.survey import first_difference
from ftlab.probes.templates.worker import Chat, renderer
from ftlab.records.rendering import Refusal, RenderedText
from ftlab.records.template_comparison import Difference, TemplateComparison


def compare_templates(
    left: Any,
    right: Any,
    *,
    tools: Sequence[Any] | None = None,
    **variables: Any,
) -> TemplateComparison | Refusal:
    r"""Compare two templates by their texts and by what they make of conversations.

    Parameters
    ----------
    left, right
        Tokenizers, or templates as texts, which are given the special tokens of the
        other side.

    Examples
    --------
    >>> from ftlab.probes.templates.compare import compare_templates
    >>> written = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> compare_templates(written, written + "\n{# the same #}").renderings
    {}
    >>> found = compare_templates(written, written + "</s>")
    >>> found.renderings["answer"].right
    '</s>'
    """
    one = _source(left, right, tools, variables)
    two = _source(right, left, tools, variables)
    if isinstance(one, Refusal):
        return one
    if isinstance(two, Refusal):
        return two
    shape = shape_for(one)
    chats = {name: in_form(chat, shape.form, one) for name, chat in TRIED.items()}
    written = [
        renderer().render_all(
            each.template, [_with(chat, each) for chat in chats.values()]
        )
        for each in (one, two)
    ]
    found = {
        name: _apart(a, b, one) for name, a, b in zip(chats, *written, strict=True)
    }
    return TemplateComparison(
        _apart(RenderedText(one.template), RenderedText(two.template), one),
        {name: each for name, each in found.items() if each is not None},
    )


def _source(
    side: Any, other: Any, tools: Sequence[Any] | None, variables: Mapping[str, Any]
) -> Source | Refusal:
    if not isinstance(side, str):
        return source_of(side, tools=tools, variables=variables)
    special = None if isinstance(other, str) else other
    return source_of(special, template=side, tools=tools, variables=variables)


def _with(chat: Chat, source: Source) -> Chat:
    return Chat(
        chat.messages,
        chat.tools,
        chat.documents,
        chat.add_generation_prompt,
        source.variables,
    )


def _apart(
    left: RenderedText | Refusal, right: RenderedText | Refusal, source: Source
) -> Difference | None:
    one, two = (
        each.text if isinstance(each, RenderedText) else each.words
        for each in (left, right)
    )
    found = first_difference(one, two, source)
    if found is None and len(two) > len(one):
        return Difference(len(one), "", two[len(one) :][:80])
    return found


def templates_in(folder: str | Path) -> dict[str, str]:
    """Return the templates that a folder of a model or adapter holds, by file.

    transformers reads ``chat_template.jinja`` before what stands in the configuration;
    other programs read only one of them.

    Examples
    --------
    >>> from ftlab.probes.templates.compare import templates_in
    >>> templates_in("no such folder")
    {}
    """
    folder = Path(folder)
    found = {}
    for path in [folder / "chat_template.jinja", folder / "tokenizer_config.json"]:
        with contextlib.suppress(OSError, ValueError):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".json":
                text = json.loads(text).get("chat_template")
            if isinstance(text, str):
                found[path.name] = text
    return found
