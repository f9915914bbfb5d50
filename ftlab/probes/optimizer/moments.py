"""The moments that an optimizer keeps of each parameter."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_BESIDE = ("exp_avg", "max_exp_avg_sq")

FLOOR = 1e-10
"""Second moments below it are counted in ``floor_share``."""

SAMPLE = 16_384
"""At most so many elements of each tensor are counted for the shares."""

TOGETHER = 64
"""Tensors of one size, no larger than a sample, that are reduced as one stack."""

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
            groups = list(_alike(members))
            order = [place for group in groups for place in group]
            parts = [_second_moments([members[n] for n in group]) for group in groups]
            whole = {name: torch.cat([e[name] for e in parts]) for name in parts[0]}
            readings.append(_reading(moment.step, ids[order], **whole))
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


def _alike(members: Sequence[_Member]) -> Iterator[list[int]]:
    """Group what one stack can hold: small tensors of one size, held to one limit."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, (second, state, group) in enumerate(members):
        limit, size = _eps_limit(state, group), second.numel()
        kinds = [getattr(state.get(key), "dtype", None) for key in _BESIDE]
        several = size <= SAMPLE and isinstance(limit, float)
        key = (size, second.dtype, *kinds, limit) if several else (place,)
        groups.setdefault(key, []).append(place)
    for places in groups.values():
        for start in range(0, len(places), TOGETHER):
            yield places[start : start + TOGETHER]


def _second_moments(members: Sequence[_Member]) -> dict[str, torch.Tensor]:
    """Reduce the second moments of one group."""
    seconds = [second for second, _, _ in members]
    low, high = torch.aminmax(_stacked(seconds), dim=1)
    floor, eps = _shares(members)
    return {
        "moment2_min": low.float(),
        "moment2_l2": torch.stack(foreach_l2(seconds)),
        "moment2_max": high.float(),
        "floor_share": floor,
        "eps_share": eps,
    }


def _shares(members: Sequence[_Member]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the shares of what lies below the floor, and below eps."""
    _, state, group = members[0]
    limit = _eps_limit(state, group)
    values = roots = firsts = _stacked([_spaced(second) for second, _, _ in members])
    if "max_exp_avg_sq" in state:
        roots = _stacked([_spaced(each["max_exp_avg_sq"]) for _, each, _ in members])
    if "exp_avg" in state:
        firsts = _stacked([_spaced(each["exp_avg"]) for _, each, _ in members])
    live = firsts != 0
    count = live.sum(1).float()
    floor, eps = (
        (below & live).sum(1) / count for below in (values < FLOOR, roots < limit)
    )
    return floor, eps if limit is not _UNKNOWN else torch.full_like(eps, _UNKNOWN)


def _stacked(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Make rows of tensors; of one, which may be large, without a copy."""
    if len(tensors) == 1:
        return tensors[0].reshape(1, -1)
    return torch.stack([each.reshape(-1) for each in tensors])


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
    order = np.argsort(ids)  # as other probes give them

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        rows = flat.reshape(len(columns), -1)[:, order]
        values = dict(zip(columns, rows, strict=True))
        yield Block(OptimizerMoments.table, step, ids[order], values)

    return Reading(values.reshape(-1), finish)
