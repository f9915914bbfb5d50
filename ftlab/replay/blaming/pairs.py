"""Losses that compare two answers: which rows are a pair, and what a pair's loss is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.replay.blaming.token_losses import MeanLoss, TokenLosses
from ftlab.replay.capsules.inputs import named_tensors

ROLES = ("chosen", "rejected")
"""The halves of a batch of TRL's preference trainers, in their order."""

ONE_OF_TWO = ("first", "second")

_PREFERENCE = ("'completion_mask'", "'rejected_input_ids'")
"""What only the batches of those trainers hold, from TRL 1 on and before it."""

SEVERAL = (
    "A pair's loss is the sum of several, each with the weight that it has in backward."
)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of one backward.

    Attributes
    ----------
    rows
        ``(pairs, 2)`` numbers of samples.
    losses
        ``(pairs,)``.
    roles
        What the first and the second of a pair are called.
    several
        More than one loss was added up.
    """

    rows: NDArray[np.int64]
    losses: NDArray[np.float64]
    roles: tuple[str, str]
    several: bool


def pairs_in(
    found: Sequence[TokenLosses], means: Sequence[MeanLoss], batch: Any
) -> Pairs | None:
    """Find pairs: a mean over half as many losses as there are rows of tokens.

    The first half of the rows belongs to the second half, row by row.
    """
    reached = [each for each in found if each.reached]
    if len(reached) != 1 or reached[0].rows % 2:
        return None
    samples = reached[0].samples.numpy()
    half = len(samples) // 2
    halves = [m for m in means if m.weight is not None and len(m.values) == half]
    if not halves or len(set(samples.tolist())) != len(samples) or not half:
        return None
    places = {place for place, _ in named_tensors(batch)}
    roles = ROLES if any(p.endswith(_PREFERENCE) for p in places) else ONE_OF_TWO
    return Pairs(
        np.stack([samples[:half], samples[half:]], axis=1),
        _summed(halves),
        roles,
        len(halves) > 1,
    )


def _summed(means: Sequence[MeanLoss]) -> NDArray[np.float64]:
    """Add the losses up; one alone needs no weight."""
    if len(means) == 1:
        return np.asarray(means[0].values.double().numpy())
    parts = [each.values.double() * (each.weight or 0.0) for each in means]
    return np.asarray(torch.stack(parts).sum(0).numpy())
