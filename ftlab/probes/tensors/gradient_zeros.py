"""How much of each gradient is exactly zero, on a schedule."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.records.step import Block, Column


class GradientZeros(Probe):
    """Count exact zeros: underflow, rows that no token used, units that are dead."""

    table: ClassVar[str] = "tensors"
    columns: ClassVar[Sequence[Column]] = (
        Column(
            "grad_zero_share", "1", "Share of gradient elements that are exactly 0."
        ),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Count the others, tensor by tensor."""
        devices: dict[torch.device, list[tuple[int, torch.Tensor, int]]] = {}
        for index, parameter in enumerate(moment.tensors.parameters):
            gradient = parameter.grad
            if gradient is None or not gradient.numel():
                continue
            entry = (index, _nonzero(gradient.detach()), gradient.numel())
            devices.setdefault(gradient.device, []).append(entry)
        return [_read(moment, entries) for entries in devices.values()]


def _nonzero(gradient: torch.Tensor) -> torch.Tensor:
    if gradient.is_sparse:
        gradient = gradient.coalesce().values()
    return torch.count_nonzero(gradient)


def _read(moment: Moment, entries: list[tuple[int, torch.Tensor, int]]) -> Reading:
    ids, step = moment.tensors.ids[[index for index, _, _ in entries]], moment.step
    counts = torch.stack([count for _, count, _ in entries])
    sizes = torch.tensor([size for _, _, size in entries], device="cpu")
    sizes = sizes.to(counts.device, non_blocking=True)
    shares = (sizes - counts).float() / sizes  # whole numbers, or a few zeros are lost

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        yield Block(GradientZeros.table, step, ids, {"grad_zero_share": flat})

    return Reading(shares, finish)
