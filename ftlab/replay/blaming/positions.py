"""Which sample and which token of the batch a position of a loss belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.replay.blaming.token_losses import NONE
from ftlab.replay.capsules.inputs import named_tensors

UNPLACED = "Which tokens of the batch a loss belongs to is not known: no labels match."
_FIRST = ("'labels'", "'decoder_input_ids'")


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the positions of one loss lie, both of its shape.

    Attributes
    ----------
    samples
        Sample in the batch.
    tokens
        Position of the predicted token in its sample.
    """

    samples: torch.Tensor
    tokens: torch.Tensor


@dataclass(slots=True)
class Positions:
    """Numbers the samples of one step.

    A step may take several micro-batches in one list: their samples are counted on.

    Attributes
    ----------
    batch
        The step's arguments.
    count, width
        Samples, and tokens of the longest one, so far.
    notes
        What could not be told.
    """

    batch: Any
    count: int = 0
    width: int = 0
    notes: list[str] = field(default_factory=list)
    _first: dict[int, int] = field(default_factory=dict)

    def place(self, targets: torch.Tensor) -> Placed:
        """Find where the predicted ``targets`` stand in the batch."""
        tables = self._tables()
        for table in tables:
            samples, tokens = table.shape
            for length, shift in ((tokens, 1), (tokens - 1, 1), (tokens, 0)):
                if targets.numel() == samples * length and length > 0:
                    rows = targets.reshape(samples, length)
                    if _agree(rows, table[:, shift:]):
                        self.width = max(self.width, tokens)
                        return self._placed(targets, id(table), samples, shift)
        shapes = [table.shape for table in tables]
        sizes = [size for size, _ in shapes] + self._sizes()
        if targets.dim() > 1:
            sizes = [len(targets)]
        fitting = [size for size in sizes if size and targets.numel() % size == 0]
        samples = next(iter(fitting), 1)
        if targets.numel() != samples and UNPLACED not in self.notes:
            self.notes.append(UNPLACED)
        self.width = max(self.width, targets.numel() // samples)
        return self._placed(targets, -samples, samples, 0)

    def _placed(
        self, targets: torch.Tensor, key: int, samples: int, shift: int
    ) -> Placed:
        if key not in self._first:
            self._first[key] = self.count
            self.count += samples
        place = torch.arange(targets.numel()).reshape(samples, -1)
        length = place.shape[1]
        return Placed(
            (place // length + self._first[key]).reshape(targets.shape),
            (place % length + shift).reshape(targets.shape),
        )

    def _tables(self) -> Sequence[torch.Tensor]:
        found = [
            (place not in _FIRST, tensor)
            for place, tensor in named_tensors(self.batch)
            if tensor.dim() == 2 and not tensor.is_floating_point()
        ]
        return [tensor for _, tensor in sorted(found, key=lambda each: each[0])]

    def _sizes(self) -> list[int]:
        every = [tensor for _, tensor in named_tensors(self.batch)]
        return [len(tensor) for tensor in every if tensor.dim() > 0]


def is_packed(batch: Any) -> bool:
    """Whether a row of the batch holds several samples, as positions tell.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.blaming.positions import is_packed
    >>> is_packed({"position_ids": torch.tensor([[0, 1, 2, 0, 1]])})
    True
    """
    for place, tensor in named_tensors(batch):
        if place.endswith("'position_ids'") and tensor.dim() == 2:
            return bool((tensor[:, 1:] == 0).any())
    return False


def _agree(targets: torch.Tensor, table: torch.Tensor) -> bool:
    """Compare predicted tokens with the batch's, where there is something to compare.

    What is behind the end of a sample has nothing to be compared with.
    """
    length = min(targets.shape[1], table.shape[1])
    counts = targets[:, :length] != NONE
    same = targets[:, :length] == table[:, :length].to(targets)
    return bool(counts.any()) and bool((same | ~counts).all())
