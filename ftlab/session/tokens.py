"""`ftlab.tokens`: what the collator really delivers, token by token."""

from collections.abc import Mapping
from typing import Any

from ftlab.records.errors import BadValueError
from ftlab.views.tokens import TokenView


def tokens(
    *,
    batch: Mapping[str, Any] | None = None,
    tokenizer: Any = None,
    processing_class: Any = None,
) -> TokenView:
    """Look at a collated batch: tokens, attention, labels, BOS and EOS.

    Parameters
    ----------
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
        ``batch`` is missing or holds no ``input_ids``.

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
    if batch is None or "input_ids" not in batch:
        found = "no batch" if batch is None else f"a batch with {sorted(batch)}"
        msg = (
            f"tokens() was given {found}; it needs input_ids. Pass what the data "
            "loader yields: ftlab.tokens(batch=next(iter(loader)), tokenizer=...)."
        )
        raise BadValueError(msg)
    return TokenView(batch, tokenizer or processing_class)
