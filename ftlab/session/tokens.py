"""`ftlab.tokens`: what the collator really delivers, token by token."""

from collections.abc import Mapping
from typing import Any

from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.views.tokens import TokenView


def tokens(
    *instead: Any,
    batch: Mapping[str, Any] | None = None,
    tokenizer: Any = None,
    processing_class: Any = None,
) -> TokenView:
    """Look at a collated batch: tokens, attention, labels, BOS and EOS.

    Parameters
    ----------
    *instead
        Nothing: a batch is passed by name. For a trainer the error says how to take
        one; ftlab does not, because that draws random numbers and rows of the data, so
        that a training which follows would not be the same.
    batch
        What the data loader yields: ``input_ids`` of shape ``(rows, length)`` and,
        where there are, ``attention_mask``, ``labels`` and ``position_ids``.
    tokenizer, processing_class
        Gives pieces and special tokens; two spellings of the same argument. Without
        it, ids are shown.

    Returns
    -------
    TokenView
        With ``table()``, ``figure()`` and ``widget()``.

    Raises
    ------
    BadValueError
        ``batch`` is missing or holds no ``input_ids``, or something else was passed.

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
    if instead:
        raise BadValueError(_instead_of_a_batch(instead[0]))
    if batch is None or "input_ids" not in batch:
        found = "no batch" if batch is None else f"a batch with {sorted(batch)}"
        msg = (
            f"tokens() was given {found}; it needs input_ids. Pass what the data "
            "loader yields: ftlab.tokens(batch=next(iter(loader)), tokenizer=...)."
        )
        raise BadValueError(msg)
    return TokenView(batch, tokenizer or processing_class)


def _instead_of_a_batch(given: Any) -> str:
    """Say how to get from what was passed to a batch."""
    from ftlab.session.integrations.transformers import is_trainer

    said = (
        f"tokens() was given {an(type(given).__name__)}; it looks at a batch, by name"
    )
    if is_trainer(given):
        return (
            f"{said}: ftlab.tokens(batch=next(iter(trainer.get_train_dataloader())), "
            "tokenizer=trainer.processing_class). Taking a batch draws random numbers, "
            "so a training that follows in this process may see another order of the "
            "data."
        )
    if isinstance(given, Mapping) and "input_ids" in given:
        return f"{said}: ftlab.tokens(batch=batch, tokenizer=tokenizer)."
    return (
        f"{said}: ftlab.tokens(batch=next(iter(loader)), tokenizer=tokenizer), with "
        "what the data loader yields."
    )
