"""What is odd about a batch, read from a few numbers of each of its rows."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch

from ftlab.probes.tokens.batch_limits import BatchLimits
from ftlab.probes.tokens.batch_stats import FieldStats
from ftlab.records.batch_facts import Oddity

WIDEST = 1e4
"""Range of inputs beyond which they were not scaled: 16-bit sound and depth reach
65,535, what processors make stays below 100."""

ROWS = 2
"""Dimensions of ids: samples and tokens."""

_INPUTS = ("input_features", "input_values")
_PICTURES = "pixel_values"
_VECTORS = "inputs_embeds"


def oddities_of(
    stats: Sequence[FieldStats], limits: BatchLimits, micro_batch: int
) -> Iterator[Oddity]:
    """Yield what is odd about one micro-batch.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tokens.batch_limits import BatchLimits
    >>> from ftlab.probes.tokens.batch_oddities import oddities_of
    >>> from ftlab.probes.tokens.batch_stats import read, reduced
    >>> values, layout = reduced({"input_ids": torch.tensor([[3, 9, 4]])})
    >>> (odd,) = oddities_of([*read(values.numpy(), layout)], BatchLimits(8), 0)
    >>> odd.row, odd.position, odd.value, odd.limit
    (0, 1, 9, 8)
    """
    for each in stats:
        if not each.whole:
            yield from _of_floats(each, limits, micro_batch)
        elif each.name == "labels":
            yield from _beyond("labels", each, limits.labels, limits, micro_batch)
            if not each.further.any():
                rows = len(each.further)
                yield Oddity("ignored", each.name, micro_batch, rows=rows)
        else:
            yield from _beyond("ids", each, limits.ids, limits, micro_batch)


def _beyond(
    kind: str,
    stats: FieldStats,
    limit: int | None,
    limits: BatchLimits,
    micro_batch: int,
) -> Iterator[Oddity]:
    if limit is None:
        return
    if stats.top.max() < limit and stats.low.min() >= 0:
        return
    above, below = stats.top >= limit, stats.low < 0
    bad = np.flatnonzero(above | below)
    row = int(bad[0])
    value, at = (
        (stats.top[row], stats.top_at[row])
        if above[row]
        else (stats.low[row], stats.low_at[row])
    )
    if int(value) not in limits.placeholders:
        place = (micro_batch, row, int(at), len(bad))
        yield Oddity(kind, stats.name, *place, int(value), limit)


def _of_floats(
    stats: FieldStats, limits: BatchLimits, micro_batch: int
) -> Iterator[Oddity]:
    finite = np.isfinite(stats.top) & np.isfinite(stats.low)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        at, value = _not_finite(stats, row)
        place = (micro_batch, row, at, int((~finite).sum()))
        yield Oddity("non-finite", stats.name, *place, value)
        return
    scaled = stats.name.startswith(_PICTURES) or stats.name in _INPUTS
    widest = stats.top - stats.low
    if limits.known and scaled and widest.max() > WIDEST:
        row = int(widest.argmax())
        place = (micro_batch, row, -1, int((widest > WIDEST).sum()))
        yield Oddity("off-scale", stats.name, *place, float(widest[row]), WIDEST)


def _not_finite(stats: FieldStats, row: int) -> tuple[int, str]:
    for value, at in (
        (stats.top[row], stats.top_at[row]),
        (stats.low[row], stats.low_at[row]),
    ):
        if not np.isfinite(value):
            return int(at), "NaN" if np.isnan(value) else "infinite"
    return -1, "NaN"


def constant_input(
    stats: Sequence[FieldStats], integers: frozenset[str]
) -> tuple[str, float] | None:
    """Return the name and the value of an input that is one number everywhere.

    Inputs are what transformers call so, or the only floats of a batch. Beside words a
    picture may be an empty one, and floats a state that begins at 0.

    Parameters
    ----------
    integers
        Names of the fields of integers that are no labels.
    """
    floats = [e for e in stats if not e.whole and e.wide and e.name != "labels"]
    for each in floats:
        known = each.name.startswith(_PICTURES) or each.name in (*_INPUTS, _VECTORS)
        only = not integers and len(floats) == 1
        if not (only or (known and "input_ids" not in integers)):
            continue
        one = np.array_equal(each.top, each.low) and (each.top == each.top[0]).all()
        if one and np.isfinite(each.top[0]):
            return each.name, float(each.top[0])
    return None


def refused(
    fields: Mapping[str, torch.Tensor], limits: BatchLimits, micro_batch: int
) -> Iterator[Oddity]:
    """Yield what the dtypes and shapes tell, of a model whose arguments are known."""
    if not limits.known:
        return
    ids, labels = fields.get("input_ids"), fields.get("labels")
    if ids is not None and ids.dtype not in (torch.int64, torch.int32):
        yield _dtype("input_ids", ids, "int64", micro_batch)
    if labels is not None and limits.labels is not None:
        classes = labels.is_floating_point() and labels.dim() == 1
        if labels.dtype != torch.int64 and (limits.per_token or classes):
            yield _dtype("labels", labels, "int64", micro_batch)
    right = None if ids is None else _in_rows(ids)
    if ids is not None and right is not None:
        yield _shape("input_ids", ids, right, micro_batch)
    elif ids is not None and ids.dim():
        yield from _unlike(fields, ids, micro_batch, aligned=limits.aligned)


def _in_rows(ids: torch.Tensor) -> tuple[int, ...] | None:
    """Return the shape that ids should have; ``None`` where theirs may be meant.

    One row needs a dimension of its own, and rows that were tokenised one by one have
    one too many. Several choices of one sample are meant.
    """
    if ids.dim() == 1:
        return (1, len(ids))
    inner = [size for size in ids.shape[1:-1] if size != 1]
    return None if inner or ids.dim() < ROWS + 1 else (len(ids), ids.shape[-1])


def _unlike(
    fields: Mapping[str, torch.Tensor],
    ids: torch.Tensor,
    micro_batch: int,
    *,
    aligned: bool,
) -> Iterator[Oddity]:
    """Yield the fields whose shapes do not go with that of the ids."""
    mask, labels = fields.get("attention_mask"), fields.get("labels")
    if mask is not None and mask.dim() == ids.dim() and mask.shape[0] != ids.shape[0]:
        yield _shape("attention_mask", mask, ids.shape, micro_batch)
    if labels is None:
        return
    rows, same = labels.shape[:1] == ids.shape[:1], labels.dim() == ids.dim()
    if not rows or (aligned and same and labels.shape != ids.shape):
        yield _shape("labels", labels, ids.shape[: labels.dim()], micro_batch)


def _dtype(name: str, field: torch.Tensor, right: str, micro_batch: int) -> Oddity:
    found = str(field.dtype).removeprefix("torch.")
    return Oddity("dtype", name, micro_batch, value=found, limit=right)


def _shape(
    name: str, field: torch.Tensor, right: Sequence[int], micro_batch: int
) -> Oddity:
    found, wanted = (str(tuple(map(int, s))) for s in (field.shape, right))
    return Oddity("shape", name, micro_batch, value=found, limit=wanted)
