"""What padding costs: rows as they are, grouped by length, and padded to one length."""

from collections.abc import Sequence

import numpy as np

from ftlab.records.attention import Documents, PaddingPlan


def padding_plans(
    documents: Sequence[Documents],
    *,
    lengths: Sequence[int] = (),
    batch_size: int = 0,
    max_length: int = 0,
) -> tuple[PaddingPlan, ...]:
    """Compare ways to put rows together, by tokens and by pairs of attention.

    Parameters
    ----------
    documents
        Of the rows of one batch.
    lengths
        Of all rows of the data, in their order; where they are not known the batch's
        own rows are all there is.
    batch_size
        Rows that are put together.
    max_length
        What static padding fills up to; 0 where nothing says so.

    Examples
    --------
    >>> from ftlab.probes.attention.padding_plans import padding_plans
    >>> plans = padding_plans([], lengths=[1, 9, 1, 9], batch_size=2, max_length=10)
    >>> [(plan.name, round(plan.padding, 2)) for plan in plans]  # doctest: +ELLIPSIS
    [('in this order', 0.44), ('grouped by length', 0.0), ('to max_length', 0.5), ...]
    """
    real = [int((each.numbers >= 0).sum()) for each in documents]
    alone = [int(n) for each in documents for n in _document_lengths(each)]
    plans = []
    if documents:
        wide = len(documents[0].numbers)
        plans.append(_plan("this batch", [wide] * len(documents), real, alone))
    if lengths and batch_size > 0:
        of = list(lengths)
        plans.append(_plan("in this order", _filled(of, batch_size), of, of))
        ordered = sorted(of)
        filled = _filled(ordered, batch_size)
        plans.append(_plan("grouped by length", filled, ordered, ordered))
    else:
        of = real
    if max_length and of:
        cut = [min(each, max_length) for each in of]
        plans.append(_plan("to max_length", [max_length] * len(of), cut, cut))
    if of:
        single = of if lengths else alone
        plans.append(_plan("no padding", single, single, single))
    return tuple(plans)


def _filled(lengths: Sequence[int], batch_size: int) -> list[int]:
    """Return the length that each row is filled up to."""
    starts = range(0, len(lengths), batch_size)
    parts = [lengths[at : at + batch_size] for at in starts]
    return [max(part) for part in parts for _ in part]


def _plan(
    name: str, filled: Sequence[int], real: Sequence[int], alone: Sequence[int]
) -> PaddingPlan:
    tokens, held = int(np.sum(filled)), int(np.sum(real))
    due = float(np.sum(np.square(np.asarray(alone, float)))) or 1.0
    pairs = float(np.sum(np.square(np.asarray(filled, float))))
    return PaddingPlan(name, tokens, 1 - held / tokens if tokens else 0.0, pairs / due)


def _document_lengths(documents: Documents) -> list[int]:
    if not documents.sure:
        return [int((documents.numbers >= 0).sum())]
    _, counts = np.unique(documents.numbers[documents.numbers >= 0], return_counts=True)
    return [int(each) for each in counts]
