"""`ftlab.tokens`: prompts and batches as a model is given them, token by token."""

from collections.abc import Mapping
from typing import Any

from ftlab.probes.tokens.columns import is_table
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.session.message_looks import look_at_messages
from ftlab.session.run_views import RunViews
from ftlab.session.token_looks import (
    Tokens,
    look_at_batch,
    look_at_rows,
    look_at_step,
    look_at_trainer,
)

MESSAGES = ("template", "tools", "documents", "add_generation_prompt", "serving")


def tokens(
    what: Any = None,
    of: Any = None,
    *,
    batch: Mapping[str, Any] | None = None,
    tokenizer: Any = None,
    processing_class: Any = None,
    model: Any = None,
    count: int | None = None,
    losses: bool = False,
    **settings: Any,
) -> Tokens:
    """Look at tokens: what they are, who wrote them, what is attended to and trained.

    Parameters
    ----------
    what, of
        One of: a tokenizer and messages; several tokenizers of one vocabulary by name,
        and messages; the rows of a dataset and a tokenizer; a trainer; a debugger. A
        trainer's first batches come from its own data loader and collator, and the
        training that follows is the same as without the look.
    batch
        What a data loader yields, by name: ``input_ids`` and, where there are,
        ``attention_mask``, ``labels``, ``position_ids`` and others.
    tokenizer, processing_class
        Gives pieces and special tokens; two spellings of the same argument. Without
        it, ids are shown.
    model
        Whose configuration says at which ids a generation stops; a trainer has its own.
    count
        How many rows of a dataset, 8 by default, or batches of a trainer, 1 by default.
    losses
        Of a debugger's step: execute it once more for the loss of each token.
    settings
        For messages: ``template``, another one: its text, a tokenizer that has it, or
        the folder of a model or adapter, or several of these by name; ``tools``,
        ``documents``, ``add_generation_prompt`` and variables of the template; and
        ``serving=True`` to compare with what is served.

    Returns
    -------
    Tokens
        With ``table()``, ``figure()`` and ``widget()``, ``ends``, ``repair()`` and
        ``side_by_side``.

    Raises
    ------
    BadValueError
        Something else was passed, or what was passed cannot be read without taking rows
        away from a training. The message says which call works.

    Examples
    --------
    >>> import ftlab, torch
    >>> ids = torch.tensor([[1, 5, 2]])
    >>> view = ftlab.tokens(batch={"input_ids": ids, "labels": ids})
    >>> len(view.table())
    3
    >>> ftlab.tokens(batch={})
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: ...
    """
    known = tokenizer if tokenizer is not None else processing_class
    _check_count(count)
    if what is None:
        _refuse(settings)
        return _of_batch(batch, known, model)
    if _is_tokenizer(what) or _are_tokenizers(what):
        messages = of if of is not None else settings.pop("messages", None)
        return look_at_messages(what, messages, model, settings)
    known = of if of is not None else known
    if _is_conversation(what):
        return look_at_messages(known, what, model, settings)
    template = settings.pop("template", None)
    _refuse(settings)
    from ftlab.session.integrations.transformers import is_trainer

    if is_trainer(what):
        return look_at_trainer(what, 1 if count is None else count, known)
    if hasattr(what, "blame") and hasattr(what, "under_way"):
        return look_at_step(what, known, losses=losses)
    if is_table(what):
        return _of_batch(what, known, model)
    if _has_rows(what):
        return look_at_rows(what, known, 8 if count is None else count, template)
    raise BadValueError(_instead(what))


def _check_count(count: object) -> None:
    if count is not None and (type(count) is not int or count < 1):
        msg = f"count={count!r}; allowed are 1 and more: count=8 rows or batches."
        raise BadValueError(msg)


def _of_batch(batch: Any, tokenizer: Any, model: Any) -> Tokens:
    if is_table(batch):
        batch = {"input_ids": batch}
    if not isinstance(batch, Mapping) or not len(batch):
        named = "no batch" if batch is None else an(type(batch).__name__)
        found = "an empty batch" if isinstance(batch, Mapping) else named
        msg = (
            f"tokens() was given {found}; it needs a batch with names, input_ids among "
            "them: ftlab.tokens(batch=next(iter(loader)), tokenizer=...), or "
            'ftlab.tokens(batch={"input_ids": ids, "labels": labels}).'
        )
        raise BadValueError(msg)
    return look_at_batch(batch, tokenizer, model)


def _refuse(settings: Mapping[str, Any]) -> None:
    if settings:
        given = ", ".join(sorted(settings))
        msg = (
            f"tokens() was given {given}, which needs messages: "
            "ftlab.tokens(tokenizer, messages, ...)."
        )
        raise BadValueError(msg)


def _is_tokenizer(what: Any) -> bool:
    return callable(getattr(text_tokenizer(what), "convert_ids_to_tokens", None))


def _are_tokenizers(what: Any) -> bool:
    return (
        isinstance(what, Mapping)
        and len(what) > 0
        and all(_is_tokenizer(each) for each in what.values())
    )


def _is_conversation(what: Any) -> bool:
    first = what[0] if isinstance(what, list | tuple) and what else None
    first = first[0] if isinstance(first, list | tuple) and first else first
    return isinstance(first, Mapping) and ("role" in first or "from" in first)


def _has_rows(what: Any) -> bool:
    if isinstance(what, Mapping | str | bytes):
        return False
    return hasattr(what, "__iter__") or (
        hasattr(what, "__getitem__") and hasattr(what, "__len__")
    )


def _instead(given: Any) -> str:
    """Say how to get from what was passed to what can be looked at."""
    said = f"tokens() was given {an(type(given).__name__)}"
    if isinstance(given, Mapping) and "input_ids" in given:
        return (
            f"{said}; a batch goes by name: ftlab.tokens(batch=batch, tokenizer=...)."
        )
    splits = list(given) if isinstance(given, Mapping) else []
    if splits and all(_has_rows(each) for each in given.values()):
        return (
            f"{said}, which holds {', '.join(map(str, splits))}; one of them goes: "
            f"ftlab.tokens(dataset[{splits[0]!r}], tokenizer)."
        )
    if isinstance(given, RunViews):
        return (
            f"{said}, and a run keeps no batches. Pass its trainer, or stop at a step: "
            "dbg = ftlab.debug(trainer); dbg.run(); ftlab.tokens(dbg)."
        )
    return (
        f"{said}; it looks at a trainer, at ftlab.tokens(tokenizer, messages), at "
        "ftlab.tokens(dataset, tokenizer) or at what a data loader yields: "
        "ftlab.tokens(batch=next(iter(loader)), tokenizer=tokenizer)."
    )
