"""How many elements of a gradient are numbers of a few bits, as above fp16's floor.

Below 6e-8 a float16 gradient is 0, and right above it has one to three significant
bits; an ordinary one has eleven. Scaling by a power of two, and a cast to float32,
leave that as it is.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.tensors.weight_sample import strided
from ftlab.records.step import Block, Column

TABLE = "coarse"

SAMPLE = 512
"""About so many elements of each gradient are looked at."""

BITS = 3
"""Significant bits of which an element may have so many."""


class CoarseGradients(Probe):
    """Look at a sample of each gradient, all of a device's at once."""

    table: ClassVar[str] = TABLE
    columns: ClassVar[Sequence[Column]] = (
        Column("zero", "1", "Share of sampled gradient elements that are exactly 0."),
        Column(
            "coarse",
            "1",
            f"Share of the others that have at most {BITS} significant bits.",
        ),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Count zeros and coarse numbers."""
        devices: dict[torch.device, tuple[list[str], list[torch.Tensor]]] = {}
        tensors = moment.tensors
        for name, parameter in zip(tensors.names, tensors.parameters, strict=True):
            gradient = parameter.grad
            if type(gradient) is torch.Tensor and _is_readable(gradient):
                names, samples = devices.setdefault(gradient.device, ([], []))
                names.append(name)
                samples.append(strided(gradient.detach().reshape(-1), SAMPLE).float())
        return [_read(moment, *each) for each in devices.values()]


def _is_readable(gradient: torch.Tensor) -> bool:
    dense = gradient.layout is torch.strided and gradient.is_floating_point()
    return dense and gradient.numel() > 0


def _read(
    moment: Moment, names: Sequence[str], samples: Sequence[torch.Tensor]
) -> Reading:
    """Sum up to the end of each sample; differences are the counts of each."""
    values = torch.cat(list(samples))
    bits = torch.frexp(values).mantissa * 2**BITS
    found = torch.stack((values == 0, (values != 0) & (bits == bits.round())))
    sizes = np.array([len(each) for each in samples])
    ends = torch.from_numpy(np.cumsum(sizes) - 1).to(values.device, non_blocking=True)
    sums = found.cumsum(1)[:, ends].float().reshape(-1)
    rows = [moment.name(TABLE, name, "param", {}) for name in names]
    ids, step = np.array(rows, np.int32), moment.step

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        zeros, coarse = np.diff(flat.reshape(2, -1), axis=1, prepend=0)
        with np.errstate(all="ignore"):
            share = coarse / (sizes - zeros)
        columns = {"zero": zeros / sizes, "coarse": share}
        values = {name: each.astype(np.float32) for name, each in columns.items()}
        yield Block(TABLE, step, ids, values)

    return Reading(sums, finish)
