"""The moments that an optimizer keeps of each parameter."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.tensors.weight_sample import strided
from ftlab.probes.torch_private import foreach_l2
from ftlab.records.step import Block, Column

_FIRST = ("exp_avg", "momentum_buffer")
_SECOND = ("exp_avg_sq",)

FLOOR = 1e-10
"""Second moments below it are counted in ``floor_share``."""

SAMPLE = 16_384
"""At most so many elements of each tensor are counted for the shares."""

_UNKNOWN = math.nan

_State = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A parameter's state, and the group that holds the parameter."""


class OptimizerMoments(Probe):
    """Read first and second moments where the optimizer keeps them as tensors.

    The 8-bit states of bitsandbytes are codes, not moments: they are left out.
    """

    name: ClassVar[str] = "moments"
    table: ClassVar[str] = "tensors"
    columns: ClassVar[Sequence[Column]] = (
        Column("moment1_l2", "1", "L2 norm of the optimizer's first moment."),
        Column("moment2_min", "1", "Smallest element of its second moment."),
        Column("moment2_l2", "1", "L2 norm of its second moment."),
        Column("moment2_max", "1", "Largest element of its second moment."),
        Column(
            "floor_share",
            "1",
            f"Share of the second moment below {FLOOR:g}, of the elements whose first "
            "moment is not 0; NaN where it is 0 in all.",
        ),
        Column(
            "eps_share",
            "1",
            "Share of the same elements in which eps is more than half of what the "
            "first moment is divided by; NaN where the optimizer does not tell.",
        ),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Read the moments that the update left."""
        states = _states(moment)
        readings = []
        for ids, members in _by_device(moment, states, _FIRST):
            values = torch.stack(foreach_l2([first for first, _, _ in members]))
            readings.append(_reading(moment.step, ids, moment1_l2=values))
        for ids, members in _by_device(moment, states, _SECOND):
            readings.append(_reading(moment.step, ids, **_second_moments(members)))
        return readings


_Member = tuple[torch.Tensor, Mapping[str, Any], Mapping[str, Any]]


def _states(moment: Moment) -> dict[int, _State]:
    """Find each watched parameter's state and group, by its position."""
    found: dict[int, _State] = {}
    for optimizer in moment.subject.live_optimizers.values():
        groups = {
            id(parameter): group
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        state = optimizer.state
        for index, parameter in enumerate(moment.tensors.parameters):
            # get, not []: the mapping would make an entry, and so change a checkpoint
            entry = state.get(parameter)
            if entry:
                found[index] = entry, groups.get(id(parameter), {})
    return found


def _by_device(
    moment: Moment, states: dict[int, _State], keys: tuple[str, ...]
) -> Iterable[tuple[NDArray[np.int32], list[_Member]]]:
    members: dict[torch.device, list[tuple[int, _Member]]] = {}
    for index, (state, group) in states.items():
        value = next((state[key] for key in keys if key in state), None)
        if type(value) is torch.Tensor and value.is_floating_point() and value.numel():
            entry = index, (value.detach(), state, group)
            members.setdefault(value.device, []).append(entry)
    for each in members.values():
        yield moment.tensors.ids[[index for index, _ in each]], [one for _, one in each]


def _second_moments(members: Sequence[_Member]) -> dict[str, torch.Tensor]:
    seconds = [second for second, _, _ in members]
    ends = [torch.aminmax(each) for each in seconds]
    shares = torch.stack([_shares(*member) for member in members])
    return {
        "moment2_min": torch.stack([low.float() for low, _ in ends]),
        "moment2_l2": torch.stack(foreach_l2(seconds)),
        "moment2_max": torch.stack([high.float() for _, high in ends]),
        "floor_share": shares[:, 0],
        "eps_share": shares[:, 1],
    }


def _shares(
    second: torch.Tensor, state: Mapping[str, Any], group: Mapping[str, Any]
) -> torch.Tensor:
    """Count what lies below the floor, and below eps; ``(2,)`` shares."""
    limit = _eps_limit(state, group)
    values = _spaced(second)
    root_of = _spaced(state.get("max_exp_avg_sq", second))
    live = _spaced(state.get("exp_avg", second)) != 0
    below = torch.stack((values < FLOOR, root_of < limit, torch.ones_like(live)))
    counts = torch.count_nonzero(below & live, dim=1).float()
    shares = counts[:2] / counts[2]
    if limit is _UNKNOWN:
        shares[1] = _UNKNOWN
    return shares


def _eps_limit(state: Mapping[str, Any], group: Mapping[str, Any]) -> Any:
    """Return the second moment whose root, bias corrected, equals eps; NaN: unknown."""
    eps, betas, step = group.get("eps"), group.get("betas"), state.get("step")
    if not isinstance(eps, float) or not isinstance(betas, tuple | list):
        return _UNKNOWN
    if step is None or len(betas) != 2:  # others average otherwise
        return _UNKNOWN
    if isinstance(step, torch.Tensor) and step.device.type == "cpu":
        step = step.item()
    return eps**2 * (1 - betas[1] ** step)


def _spaced(tensor: torch.Tensor) -> torch.Tensor:
    return strided(tensor.detach().reshape(-1), SAMPLE)


def _reading(step: int, ids: NDArray[np.int32], **columns: torch.Tensor) -> Reading:
    values = torch.stack([each.float() for each in columns.values()])

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        rows = dict(zip(columns, flat.reshape(len(columns), -1), strict=True))
        yield Block(OptimizerMoments.table, step, ids, rows)

    return Reading(values.reshape(-1), finish)
