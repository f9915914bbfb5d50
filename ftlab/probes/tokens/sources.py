"""Rows of tokens out of messages and trainers.

Messages are rendered in the worker process (`ftlab.probes.templates`) and tokenised as
``apply_chat_template`` does.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ftlab.probes.templates.spans import rendering_of
from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.pieces import PieceBook
from ftlab.probes.tokens.rendered import row_of
from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.self_rendered import renders_itself, row_by_itself
from ftlab.probes.tokens.untouched import first_batches
from ftlab.records.errors import BadValueError
from ftlab.records.rendering import Refusal
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import Piece, TokenBatch, TokenRow

SPEAKERS = {"human": "user", "gpt": "assistant", "chatgpt": "assistant"}
"""Roles of the notation with ``from`` and ``value``."""


def of_messages(
    tokenizer: Any, messages: Any, *, template: Any = None, **settings: Any
) -> TokenBatch:
    """Render conversations and say what each token is.

    Parameters
    ----------
    tokenizer
        A tokenizer, a processor, or several by name.
    messages
        One conversation, or a list of them.
    template
        Another template than the tokenizer's, or several by name: each conversation is
        shown in all of them.
    settings
        ``tools``, ``documents``, ``add_generation_prompt`` and variables of the
        template.

    Raises
    ------
    BadValueError
        No conversation was given, or no template renders it.

    Examples
    --------
    >>> from ftlab.probes.tokens.sources import of_messages
    >>> of_messages(None, "hello")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: messages is a str; it must be a list of \
{"role": ..., "content": ...}, or a list of such lists.
    """
    talks = conversations(messages)
    ways = [
        (said, each, way)
        for name, each in _named(tokenizer)
        for other, way in _named(template)
        for said in [", ".join(filter(None, (name, other)))]
    ]
    made: list[TokenBatch] = []
    remarks: list[str] = []
    for said, each, way in ways:
        facts = survey(each, template=way)
        book = PieceBook(each, facts)
        if facts.refused is not None and facts.refused.kind == "turns":
            remarks.append(": ".join(filter(None, (said, str(facts.refused)))))
        rows = []
        for at, talk in enumerate(talks):
            number = f"conversation {at}" if len(talks) > 1 else ""
            source = ", ".join(filter(None, (said, number))) or "conversation"
            row = _row(each, talk, book, source, {"template": way, **settings})
            if isinstance(row, Refusal):
                remarks.append(f"{source}: {row}{_lacking(talk, row)}")
            else:
                rows.append(row)
        book.look_up(book.special.get("eos", ()))  # named also where no row holds it
        made.append(TokenBatch(tuple(rows), book.pieces, book.special))
        for fault in _faults(facts, talks, **settings):
            remarks.append(": ".join(filter(None, (said, fault))))
    if not any(batch.rows for batch in made):
        msg = f"Nothing was rendered: {'; '.join(remarks)}."
        raise BadValueError(msg)
    return merged(made, remarks)


def _faults(
    facts: TemplateFacts, talks: Iterable[Sequence[Mapping[str, Any]]], **settings: Any
) -> Iterator[str]:
    """Say what a template does to these conversations that nobody can have meant."""
    if facts.refused is not None:
        return
    contents = [message.get("content") for talk in talks for message in talk]
    if "list content" in facts.reprs and any(isinstance(c, list) for c in contents):
        yield (
            "the template prints list content in the notation of Python; pass its text "
            "as a string"
        )
    answered = any(talk and talk[-1].get("role") == "assistant" for talk in talks)
    finished = not settings.get("continue_final_message")
    if answered and finished and not facts.terminator.strip():
        yield (
            "nothing ends the last answer: a model trained on it does not learn to stop"
        )


def _lacking(talk: Iterable[Mapping[str, Any]], refusal: Refusal) -> str:
    """Name the message that has no role or no content, where a template needs it."""
    if refusal.kind != "undefined":
        return ""
    for number, message in enumerate(talk):
        for key in ("role", "content"):
            if message.get(key) is None:
                return f" (message {number} has no {key})"
    return ""


def _row(
    tokenizer: Any,
    talk: list[dict[str, Any]],
    book: PieceBook,
    source: str,
    settings: dict[str, Any],
) -> TokenRow | Refusal:
    found = rendering_of(tokenizer, talk, **settings)
    if not isinstance(found, Refusal):
        return row_of(found, tokenizer, book, source)
    if not renders_itself(tokenizer, found):
        return found
    own = {name: each for name, each in settings.items() if name != "template"}
    return row_by_itself(tokenizer, talk, book, source, own)


def _named(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(name), each) for name, each in value.items()]
    return [("", value)]


def conversations(messages: Any) -> list[list[dict[str, Any]]]:
    """Return one conversation or several as a list of them.

    Examples
    --------
    >>> from ftlab.probes.tokens.sources import conversations
    >>> conversations([{"from": "human", "value": "Hi"}])
    [[{'role': 'user', 'content': 'Hi'}]]
    """
    if isinstance(messages, Mapping):
        messages = [_single(messages)]
    several = isinstance(messages, Sequence) and not isinstance(messages, str | bytes)
    talks = list(messages) if several else []
    if talks and all(isinstance(each, Mapping) for each in talks):
        talks = [talks]
    fit = [
        isinstance(talk, Sequence) and all(isinstance(m, Mapping) for m in talk)
        for talk in talks
    ]
    if all(fit) and _endless(talks):
        msg = "messages hold themselves: a conversation must have an end."
        raise BadValueError(msg)
    if not talks or not all(fit):
        kind = type(messages).__name__
        said = "holds no conversation" if several else f"is a {kind}"
        msg = (
            f'messages {said}; it must be a list of {{"role": ..., "content": ...}}, '
            "or a list of such lists."
        )
        raise BadValueError(msg)
    return [[_message(each) for each in talk] for talk in talks]


def _single(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take a message by itself, not a row of a dataset that holds messages."""
    talk = next((n for n in ("messages", "conversations") if n in given), None)
    if talk is not None and "role" not in given:
        msg = f"messages is a row with {talk}; pass row[{talk!r}]."
        raise BadValueError(msg)
    return given


def _endless(talks: Any) -> bool:
    """Tell whether a value holds itself."""
    try:
        json.dumps(talks, default=str, skipkeys=True)
    except (ValueError, RecursionError):
        return True
    return False


def _message(given: Mapping[str, Any]) -> dict[str, Any]:
    if "role" not in given and "from" in given:
        speaker = str(given["from"])
        role = SPEAKERS.get(speaker, speaker)
        return {"role": role, "content": given.get("value", "")}
    return dict(given)


def of_trainer(
    trainer: Any, count: int = 1, tokenizer: Any = None
) -> tuple[TokenBatch, list[Any], TemplateFacts | None]:
    """Show the first batches of a trainer, which then trains as if nobody had looked.

    Returns
    -------
    tuple
        The rows, the batches that they are from, and what is known of the template.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokens.sources import of_trainer
    >>> of_trainer(SimpleNamespace(train_dataset=None))
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: The trainer has no train_dataset: ...
    """
    tokenizer = tokenizer or getattr(trainer, "processing_class", None)
    taken = first_batches(trainer, count)
    facts = facts_of(tokenizer, getattr(trainer, "model", None))
    made = [read_batch(each, tokenizer, facts=facts) for each in taken]
    if len(made) > 1:
        made = [_numbered(each, at) for at, each in enumerate(made)]
    return merged(made), taken, facts


def facts_of(
    tokenizer: Any, model: Any = None, template: str | None = None
) -> TemplateFacts | None:
    """Survey a tokenizer's template; ``None`` without a tokenizer."""
    if tokenizer is None:
        return None
    return survey(tokenizer, model, template=template)


def _numbered(batch: TokenBatch, at: int) -> TokenBatch:
    rows = (replace(row, source=f"batch {at}, {row.source}") for row in batch.rows)
    return replace(batch, rows=tuple(rows))


def merged(batches: Sequence[TokenBatch], remarks: Iterable[str] = ()) -> TokenBatch:
    """Put batches of one vocabulary together.

    Raises
    ------
    BadValueError
        The same id is another piece in another one of them.
    """
    pieces: dict[int, Piece] = {}
    special: dict[str, frozenset[int]] = {}
    said = [*(each for batch in batches for each in batch.remarks), *remarks]
    for batch in batches:
        for each, piece in batch.pieces.items():
            known = pieces.setdefault(each, piece)
            if known.piece != piece.piece:
                msg = (
                    f"The tokenizers have vocabularies of their own: id {each} is "
                    f"{known.piece!r} in one and {piece.piece!r} in another. Look at "
                    "them one by one: ftlab.tokens(tokenizer, messages)."
                )
                raise BadValueError(msg)
            kinds = known.special | piece.special
            pieces[each] = replace(known, special=kinds - {"control"} or kinds)
        for name, ids in batch.special.items():
            special[name] = special.get(name, frozenset()) | ids
    rows = tuple(row for batch in batches for row in batch.rows)
    return TokenBatch(rows, pieces, special, tuple(dict.fromkeys(said)))
