"""Rows of tokens out of rows of a dataset, by the columns that they have."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.pieces import PieceBook, text_tokenizer
from ftlab.probes.tokens.rendered import encoded
from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.sources import merged, of_messages
from ftlab.probes.tokens.untouched import untouched
from ftlab.records.errors import BadValueError
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import TokenBatch, TokenRow, Turn

TALKS = ("messages", "conversations", "conversation", "chat", "dialog", "turns")
TEXTS = ("text", "content", "formatted_text")


def of_rows(
    rows: Any, tokenizer: Any, count: int = 8, *, template: str | None = None
) -> TokenBatch:
    """Show the first rows of a dataset, by the columns that they have.

    Conversations are rendered; a prompt and its completion are written behind each
    other; a text is tokenised; token ids are shown with the columns beside them. What a
    trainer makes of them may differ: a trainer shows its batches.

    Parameters
    ----------
    rows
        A ``datasets.Dataset``, a list, or what can be iterated more than once.
    tokenizer
        Of the training.
    count
        How many rows.
    template
        Another template than the tokenizer's.

    Raises
    ------
    BadValueError
        It can be iterated only once, or its rows have no column that is known.

    Examples
    --------
    >>> from ftlab.probes.tokens.dataset_rows import of_rows
    >>> made = of_rows([{"input_ids": [3, 4]}, {"input_ids": [5]}], None)
    >>> [row.source for row in made.rows]
    ['row 0 of the dataset', 'row 1 of the dataset']
    >>> of_rows(iter([1]), None)
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: a list_iterator gives each row once: pass a \
list of its first rows, such as list(itertools.islice(rows, 8)).
    """
    made = []
    facts: TemplateFacts | None = None
    for at, row in enumerate(_first(rows, count)):
        if not isinstance(row, Mapping):
            row = {"text": row} if isinstance(row, str) else {"messages": row}
        if facts is None and tokenizer is not None:
            facts = survey(tokenizer, template=template)
        try:
            found = _of_row(row, tokenizer, template, facts)
        except BadValueError as error:
            msg = f"row {at} of the dataset: {error}"
            raise BadValueError(msg) from error
        named = [replace(r, source=_source(at, r, found)) for r in found.rows]
        made.append(replace(found, rows=tuple(named)))
    if not made:
        msg = "The dataset has no rows."
        raise BadValueError(msg)
    return merged(made)


def _source(at: int, row: TokenRow, found: TokenBatch) -> str:
    """Name a row: of a dataset, or of a batch where a loader yields these."""
    kind = _kind(row.source)
    if not kind and len(found.rows) > 1 and row.source.startswith("sample"):
        return f"batch {at}, {row.source}"
    return ", ".join(filter(None, (f"row {at} of the dataset", kind)))


def _kind(source: str) -> str:
    kind = source.partition(" ")[0]
    return "" if kind in ("sample", "conversation") else kind


def _first(rows: Any, count: int) -> list[Any]:
    if isinstance(rows, Mapping) and not hasattr(rows, "keys"):
        rows = list(rows)
    if isinstance(rows, Iterator):
        msg = (
            f"a {type(rows).__name__} gives each row once: pass a list of its first "
            f"rows, such as list(itertools.islice(rows, {count}))."
        )
        raise BadValueError(msg)
    with untouched() as kept:
        kept.add("the dataset", rows)
        if hasattr(rows, "__getitem__") and hasattr(rows, "__len__"):
            return [rows[at] for at in range(min(count, len(rows)))]
        return list(itertools.islice(iter(rows), count))


def _of_row(
    row: Mapping[str, Any],
    tokenizer: Any,
    template: str | None,
    facts: TemplateFacts | None,
) -> TokenBatch:
    if any(name == "input_ids" or name.endswith("_input_ids") for name in row):
        # one row has no axis of its own for rows
        single = {k: v for k, v in row.items() if v is not None}
        return read_batch(single, tokenizer, facts=facts)
    talk = next((name for name in TALKS if row.get(name)), None)
    others = {"template": template} if template is not None else {}
    if row.get("tools"):
        others["tools"] = row["tools"]
    if talk is not None:
        return of_messages(tokenizer, row[talk], **others)
    answers = [n for n in ("completion", "chosen", "rejected") if row.get(n)]
    if answers:
        parts = [_of_answer(row, name, tokenizer, others) for name in answers]
        return merged(parts)
    text = next((name for name in TEXTS if isinstance(row.get(name), str)), None)
    if text is not None and tokenizer is not None:
        inner = text_tokenizer(tokenizer)
        try:
            ids = list(inner(row[text])["input_ids"])
        except TypeError as error:  # of a text that is no Unicode
            msg = (
                f"{text} cannot be tokenised: {row[text][:40]!a}. It holds a half of a "
                "character; text.encode('utf-8', 'replace').decode() replaces it."
            )
            raise BadValueError(msg) from error
        return read_batch({"input_ids": [ids]}, tokenizer, facts=facts)
    empty = [name for name in (*TALKS, *TEXTS) if name in row and not row[name]]
    if empty:
        msg = f"A row holds {empty[0]}={row[empty[0]]!r}; drop rows that say nothing."
        raise BadValueError(msg)
    held = ", ".join(sorted(map(str, row))) or "nothing"
    msg = (
        f"The rows hold {held}; known are input_ids, messages, prompt and completion, "
        "chosen and rejected, and text. Let the training's collator make a batch of "
        "them: ftlab.tokens(batch=collator(rows), tokenizer=tokenizer)."
    )
    raise BadValueError(msg)


def _of_answer(
    row: Mapping[str, Any], name: str, tokenizer: Any, others: Mapping[str, Any]
) -> TokenBatch:
    """Write an answer behind its prompt, both as messages or both as texts."""
    prompt, answer = row.get("prompt") or "", row[name]
    said = "" if name == "completion" else name
    if not isinstance(answer, str):
        before = list(prompt) if not isinstance(prompt, str) else []
        made = of_messages(tokenizer, [*before, *answer], **others)
        return replace(made, rows=tuple(replace(r, source=said) for r in made.rows))
    book = PieceBook(tokenizer)
    text = str(prompt) + answer
    ids, starts, _ = encoded(text, tokenizer, book)
    cut = int(np.searchsorted(starts, len(str(prompt))))
    turns = (
        Turn(0, cut, "user", 0, "text"),
        Turn(cut, len(ids), "assistant", 1, "text"),
    )
    held = tuple(turn for turn in turns if turn.end > turn.start)
    only = TokenRow(ids, turns=held, source=said, texts=book.joined(ids))
    return TokenBatch((only,), book.pieces, book.special)
