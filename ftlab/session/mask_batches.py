"""Batches that `ftlab.masks` is given: what no model would take is refused in words."""

from collections.abc import Mapping
from typing import Any

from ftlab.probes.tokens.columns import is_table
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an

PLAIN = 'ftlab.masks(model, {"input_ids": ids, "attention_mask": mask})'


def checked(batch: Any) -> Mapping[str, Any] | None:
    """Return a batch whose shapes fit; a bare table of ids is one of nothing else.

    Raises
    ------
    BadValueError
        It is neither a mapping nor a table of whole numbers, ids are not in rows, or
        the mask is not for them.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.mask_batches import checked
    >>> checked({"input_ids": torch.tensor([5, 6, 7])})
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: input_ids has the shape (3,); it must be \
(rows, length): ids[None] is one row.
    """
    if isinstance(batch, Mapping) or hasattr(batch, "items"):
        _check_shapes(batch)
        return batch
    if batch is None:
        return None
    if is_table(batch):
        return {"input_ids": batch}
    msg = (
        f"The batch is {an(type(batch).__name__)}; it must be a mapping with the "
        f"forward's argument names: {PLAIN}."
    )
    raise BadValueError(msg)


def _check_shapes(batch: Mapping[str, Any]) -> None:
    ids, mask = batch.get("input_ids"), batch.get("attention_mask")
    shape = tuple(getattr(ids, "shape", ()))
    if len(shape) == 1:
        msg = (
            f"input_ids has the shape {shape}; it must be (rows, length): ids[None] is "
            "one row."
        )
        raise BadValueError(msg)
    masked = tuple(getattr(mask, "shape", ()))
    if len(shape) == 2 and masked and batch.get("past_key_values") is None:
        _check_mask(shape, masked, str(getattr(mask, "dtype", "")))


def _check_mask(shape: tuple[int, ...], masked: tuple[int, ...], kind: str) -> None:
    rows, length = shape
    fits = {
        2: masked == shape,
        4: masked[0] in (1, rows) and masked[-2:] == (length, length),
    }
    if not fits.get(len(masked), False):
        msg = (
            f"attention_mask has the shape {masked} and input_ids {shape}; it must be "
            f"{shape}, or ({rows}, 1, {length}, {length}) for a custom mask."
        )
        raise BadValueError(msg)
    if len(masked) == 4 and "int" in kind:
        msg = (
            f"attention_mask of 4 dimensions is of {kind}: sdpa refuses it, and eager "
            "attention adds it to the scores, where 1 hides nothing. It must be bool "
            "(True is attended to) for sdpa, or float, 0 and -inf: mask.bool()."
        )
        raise BadValueError(msg)
