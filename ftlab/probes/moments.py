"""The moments that an optimizer keeps of each parameter."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.torch_private import foreach_l2
from ftlab.records.step import Block, Column

_FIRST = ("exp_avg", "momentum_buffer")
_SECOND = ("exp_avg_sq",)


class OptimizerMoments(Probe):
    """Read first and second moments where the optimizer keeps them as tensors.

    The 8-bit states of bitsandbytes are codes, not moments: they are left out.
    """

    name: ClassVar[str] = "moments"
    table: ClassVar[str] = "tensors"
    columns: ClassVar[Sequence[Column]] = (
        Column("moment1_l2", "1", "L2 norm of the optimizer's first moment."),
        Column("moment2_min", "1", "Smallest element of its second moment."),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Read the moments that the update left."""
        states = _states(moment)
        readings = []
        for column, keys in (("moment1_l2", _FIRST), ("moment2_min", _SECOND)):
            for members in _by_device(states, keys).values():
                ids = moment.tensors.ids[[index for index, _ in members]]
                tensors = [tensor for _, tensor in members]
                readings.append(_read(moment.step, column, ids, tensors))
        return readings


def _states(moment: Moment) -> dict[int, dict[str, Any]]:
    """Find each watched parameter's state, by its position."""
    found: dict[int, dict[str, Any]] = {}
    for optimizer in moment.subject.optimizers:
        state = optimizer.state
        for index, parameter in enumerate(moment.tensors.parameters):
            # get, not []: the mapping would make an entry, and so change a checkpoint
            entry = state.get(parameter)
            if entry:
                found[index] = entry
    return found


def _by_device(
    states: dict[int, dict[str, Any]], keys: tuple[str, ...]
) -> dict[torch.device, list[tuple[int, torch.Tensor]]]:
    members: dict[torch.device, list[tuple[int, torch.Tensor]]] = {}
    for index, state in states.items():
        value = next((state[key] for key in keys if key in state), None)
        if type(value) is torch.Tensor and value.is_floating_point() and value.numel():
            members.setdefault(value.device, []).append((index, value.detach()))
    return members


def _read(
    step: int, column: str, ids: NDArray[np.int32], tensors: list[torch.Tensor]
) -> Reading:
    if column == "moment1_l2":
        values = torch.stack(foreach_l2(tensors))
    else:
        values = torch.stack([torch.amin(tensor).float() for tensor in tensors])

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        yield Block(OptimizerMoments.table, step, ids, {column: flat})

    return Reading(values.float(), finish)
