"""How far an update moved each weight, and which weights it could not move.

A low-precision weight that an update is too small for keeps its stored value: the
optimizer steps, the loss goes nowhere. A fixed sample of each tensor is copied before
the update and compared after it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.tensors.weight_sample import strided
from ftlab.probes.torch_private import overflow_seen_by
from ftlab.records.step import Block, Column

SAMPLE = 4096
"""At most so many elements of each tensor are looked at."""

_DECOUPLED = ("AdamW", "Adafactor", "Muon")
"""Optimizers of torch whose decay is not part of the gradient, told by nothing else."""


@dataclass(frozen=True, slots=True)
class _Holder:
    """The optimizer of one parameter, its learning rate, and lr x weight decay."""

    optimizer: int = -1
    rate: float | torch.Tensor = 0.0
    decay: float = math.nan


_NOBODY = _Holder()


@dataclass(frozen=True, slots=True)
class _Group:
    """Tensors of one device, dtype and sample size, measured as one matrix."""

    ids: NDArray[np.int32]
    parameters: tuple[torch.Tensor, ...]
    before: torch.Tensor
    has_gradient: torch.Tensor
    holders: tuple[_Holder, ...]
    scales: NDArray[np.float64]


class Updates(Probe):
    """Compare a sample of each trainable tensor before and after the update."""

    table: ClassVar[str] = "tensors"
    columns: ClassVar[Sequence[Column]] = (
        Column("update_l2", "1", "L2 norm of the update, from a sample."),
        Column(
            "stuck_share",
            "1",
            "Share of sampled weights with a non-zero gradient that kept their stored "
            "value; NaN where none could move (no gradient, lr 0, skipped step).",
        ),
        Column(
            "decay_share",
            "1",
            "Norm of lr x weight decay x weight over update_l2; NaN where nothing "
            "moved, or the optimizer adds the decay to the gradient.",
        ),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._step = -1
        self._groups: list[_Group] = []
        self._overflows: dict[int, torch.Tensor] = {}

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Copy the sample; of several optimizers the first one's moment counts."""
        if moment.step != self._step:
            self._step, self._groups = moment.step, _sample(moment)
            self._overflows = {}
        return ()

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare with the copy."""
        if moment.step != self._step:
            return []
        for number, optimizer in moment.subject.live_optimizers.items():
            found = overflow_seen_by(optimizer)
            if found is not None:  # a fused optimizer that decides on the device
                self._overflows[number] = found.clone()
        return [_compare(g, moment.step, self._overflows) for g in self._groups]

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of the copies."""
        self._groups, self._overflows = [], {}
        return {}


def _sample(moment: Moment) -> list[_Group]:
    """Copy up to `SAMPLE` evenly spaced elements of each tensor and of its gradient."""
    holders = _holders(moment.subject)
    members: dict[tuple[object, ...], list[int]] = {}
    samples: dict[int, torch.Tensor] = {}
    for index, parameter in enumerate(moment.tensors.parameters):
        if type(parameter.data) is not torch.Tensor or parameter.is_meta:
            continue  # one rank's part of a sharded tensor
        if not parameter.numel():
            continue
        samples[index] = sample = spaced(parameter.detach())
        key = (parameter.device, parameter.dtype, len(sample))
        members.setdefault(key, []).append(index)
    return [
        _group(moment, indices, [samples[i] for i in indices], holders)
        for indices in members.values()
    ]


def _group(
    moment: Moment,
    indices: list[int],
    samples: list[torch.Tensor],
    holders: dict[int, _Holder],
) -> _Group:
    parameters = [moment.tensors.parameters[i] for i in indices]
    count = len(samples[0])
    known = [holders.get(id(parameter), _NOBODY) for parameter in parameters]
    moving = [
        _moving(p, count, holder.rate)
        for p, holder in zip(parameters, known, strict=True)
    ]
    return _Group(
        ids=moment.tensors.ids[indices],
        parameters=tuple(parameters),
        before=torch.stack(samples),
        has_gradient=torch.stack(moving),
        holders=tuple(known),
        scales=np.sqrt([p.numel() / count for p in parameters]),
    )


def spaced(tensor: torch.Tensor) -> torch.Tensor:
    """View evenly spaced elements; a tensor that is not contiguous is copied."""
    return strided(tensor.reshape(-1), SAMPLE)


def _moving(
    parameter: torch.Tensor, count: int, rate: float | torch.Tensor
) -> torch.Tensor:
    """Tell which sampled elements the optimizer has a reason to move."""
    gradient = parameter.grad
    if gradient is None or (not isinstance(rate, torch.Tensor) and rate == 0):
        return torch.zeros(count, dtype=torch.bool, device=parameter.device)
    if gradient.layout is not torch.strided:
        moving = _touched(parameter, gradient.detach())
    else:
        moving = spaced(gradient.detach()) != 0
    return moving & (rate > 0) if isinstance(rate, torch.Tensor) else moving


def _touched(parameter: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """Tell which sampled elements lie in rows that a sparse gradient names."""
    if gradient.layout is not torch.sparse_coo or gradient.sparse_dim() != 1:
        return spaced(gradient.to_dense()) != 0
    # Sorting waits for a GPU; sparse gradients are rare there, and due steps few.
    rows = torch.zeros(parameter.shape[0], dtype=torch.bool, device=parameter.device)
    rows[gradient.coalesce().indices()[0]] = True
    flat = strided(torch.arange(parameter.numel(), device=parameter.device), SAMPLE)
    return rows[flat // (parameter.numel() // parameter.shape[0])]


def _holders(subject: Subject) -> dict[int, _Holder]:
    """Tell who holds each parameter, by ``id(parameter)``."""
    found: dict[int, _Holder] = {}
    for number, optimizer in subject.live_optimizers.items():
        for group in optimizer.param_groups:
            holder = _Holder(number, group.get("lr", 1.0), _decay(optimizer, group))
            found |= {id(parameter): holder for parameter in group["params"]}
    return found


def _decay(optimizer: torch.optim.Optimizer, group: dict[str, Any]) -> float:
    """Return lr x weight decay; NaN where it is part of the gradient, or not known."""
    rate, decay = group.get("lr"), group.get("weight_decay")
    if decay == 0:
        return 0.0
    own = type(optimizer).__module__.startswith("torch.optim")
    if own and not group.get(
        "decoupled_weight_decay", type(optimizer).__name__ in _DECOUPLED
    ):
        return math.nan
    if isinstance(rate, torch.Tensor) and rate.device.type == "cpu":
        rate = rate.item()
    if not isinstance(rate, float | int) or not isinstance(decay, float | int):
        return math.nan
    return rate * decay


def _applied(group: _Group, overflows: dict[int, torch.Tensor]) -> torch.Tensor:
    """Tell for each row whether its optimizer really stepped, as ``(n, 1)``."""
    device = group.before.device
    none = torch.zeros((), device=device)
    found = [overflows.get(each.optimizer, none) for each in group.holders]
    return torch.stack([each.reshape(()).to(device) for each in found])[:, None] == 0


def _compare(group: _Group, step: int, overflows: dict[int, torch.Tensor]) -> Reading:
    """Queue norms and shares of one group: ``(3, n)`` values."""
    after = torch.stack([spaced(p.detach()) for p in group.parameters])
    change = after.float() - group.before.float()
    moving = group.has_gradient
    if overflows:
        moving = moving & _applied(group, overflows)
    stuck = moving & (after == group.before)
    counts = torch.stack((stuck, moving)).sum(2, dtype=torch.float32)
    norms = torch.linalg.vector_norm(change, dim=1)
    weights = torch.linalg.vector_norm(group.before.float(), dim=1)
    values = torch.cat((norms, counts[0] / counts[1], weights))

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        norm, share, weight = flat.reshape(3, -1)
        with np.errstate(all="ignore"):  # of weights that are not finite any more
            update = (norm * group.scales).astype(np.float32)
            decayed = weight * [each.decay for each in group.holders]
            moved = np.where(norm > 0, norm, np.nan)
            lost = (decayed / moved).astype(np.float32)
        columns = {"update_l2": update, "stuck_share": share, "decay_share": lost}
        yield Block(Updates.table, step, group.ids, columns)

    return Reading(values, finish)
