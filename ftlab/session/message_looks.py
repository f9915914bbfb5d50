"""`ftlab.tokens` of conversations: rendered, compared with what is served and said."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ftlab.probes.templates.serving import answers_in, serving_of
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.probes.tokens.sources import conversations, facts_of, of_messages
from ftlab.probes.tokens.unwritten import unwritten
from ftlab.records.errors import BadValueError
from ftlab.records.rendering import Refusal
from ftlab.records.template_comparison import ServedTurn
from ftlab.records.token_row import TokenBatch
from ftlab.session.template_sources import as_texts, comparisons
from ftlab.session.token_looks import Tokens


def look_at_messages(
    tokenizer: Any, messages: Any, model: Any, settings: Mapping[str, Any]
) -> Tokens:
    """Look at conversations, in one template or in several."""
    if messages is None:
        msg = (
            "tokens() was given a tokenizer; it needs messages too: "
            'ftlab.tokens(tokenizer, [{"role": "user", "content": "Hi"}]).'
        )
        raise BadValueError(msg)
    asked = dict(settings)
    serving = asked.pop("serving", False)
    given = asked.get("template")
    asked["template"] = as_texts(given)
    read = of_messages(tokenizer, messages, **asked)
    said = comparisons(given, asked["template"], tokenizer)
    if serving:
        said += _served(tokenizer, messages, asked)
    read = replace(read, remarks=(*read.remarks, *said))
    single = None if isinstance(tokenizer, Mapping) else tokenizer
    template = asked.get("template")
    one = single is not None and not isinstance(template, Mapping)
    facts = facts_of(single, model, template) if one else None
    prompt = _prompt(single, messages, asked) if serving and one else None
    talks = conversations(messages) if one else []
    training = functools.partial(_left_out, talks, read, single)
    return Tokens(
        read, facts, None, single, prompt=prompt, model=model, training=training
    )


def _left_out(
    talks: Sequence[Sequence[Any]], read: TokenBatch, tokenizer: Any
) -> Mapping[str, Any]:
    """Tell what of conversations is not in their rows."""
    if len(talks) != len(read.rows) or tokenizer is None:
        return {}
    rows = [
        (number, talk, row.ids.tolist())
        for number, (talk, row) in enumerate(zip(talks, read.rows, strict=True))
    ]
    return {"left_out": unwritten(rows, text_tokenizer(tokenizer))}


def _prompt(
    tokenizer: Any, messages: Any, asked: Mapping[str, Any]
) -> TokenBatch | None:
    """Render what is served for the last answer of a single conversation."""
    talks = conversations(messages)
    answers = [at for at, m in enumerate(talks[0]) if m.get("role") == "assistant"]
    if len(talks) > 1 or not answers or not answers[-1]:
        return None
    before = talks[0][: answers[-1]]
    return of_messages(tokenizer, before, **{**asked, "add_generation_prompt": True})


def _served(tokenizer: Any, messages: Any, asked: Mapping[str, Any]) -> list[str]:
    """Say for each answer whether it is served as it was trained."""
    others = {k: v for k, v in asked.items() if k != "add_generation_prompt"}
    template = others.pop("template", None)
    named = tokenizer if isinstance(tokenizer, Mapping) else {"": tokenizer}
    ways = template if isinstance(template, Mapping) else {"": template}
    said = []
    for name, each in named.items():
        for other, way in ways.items():
            for number, talk in enumerate(conversations(messages)):
                found = serving_of(each, talk, template=way, **others)
                turns = _compared(found, len(answers_in(talk)))
                where = [name, other, f"conversation {number}" if number else ""]
                place = ", ".join(filter(None, where))
                said += [f"{place}: {turn}" if place else turn for turn in turns]
    return said


def _compared(found: tuple[ServedTurn, ...] | Refusal, answers: int) -> list[str]:
    """Say how answers are served, and how many of them were not looked at."""
    if isinstance(found, Refusal):
        return [str(found)]
    rest = [f"{len(found)} of {answers} answers were compared"]
    return [*map(str, found), *(rest if len(found) < answers else [])]
