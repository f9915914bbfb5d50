"""How far an update moved each weight, and which weights it could not move.

A low-precision weight that an update is too small for keeps its stored value: the
optimizer steps, the loss goes nowhere. A fixed sample of each tensor is copied before
the update and compared after it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.torch_private import foreach_max
from ftlab.records.step import Block, Column

SAMPLE = 4096
"""At most so many elements of each tensor are looked at."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Tensors of one device, dtype and sample size, measured as one matrix."""

    ids: NDArray[np.int32]
    parameters: tuple[torch.Tensor, ...]
    before: torch.Tensor
    has_gradient: torch.Tensor
    scales: NDArray[np.float64]


class UpdateProbe(Probe):
    """Compare a sample of each trainable tensor before and after the update."""

    name: ClassVar[str] = "updates"
    table: ClassVar[str] = "tensors"
    columns: ClassVar[Sequence[Column]] = (
        Column("update_l2", "1", "L2 norm of the update, from a sample."),
        Column(
            "stuck_share",
            "1",
            "Share of sampled weights with a non-zero gradient that kept their stored "
            "value; NaN where none could move (no gradient, lr 0, skipped step).",
        ),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._step = -1
        self._groups: list[_Group] = []

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Copy the sample; of several optimizers the first one's moment counts."""
        if moment.step != self._step:
            self._step, self._groups = moment.step, _sample(moment)
        return ()

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare with the copy."""
        if moment.step != self._step:
            return []
        return [_compare(group, moment.step) for group in self._groups]

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of the copies."""
        self._groups = []
        return {}


def _sample(moment: Moment) -> list[_Group]:
    """Copy up to `SAMPLE` evenly spaced elements of each tensor and of its gradient."""
    rates = _learning_rates(moment.subject)
    members: dict[tuple[object, ...], list[int]] = {}
    samples: dict[int, torch.Tensor] = {}
    for index, parameter in enumerate(moment.tensors.parameters):
        if type(parameter.data) is not torch.Tensor or parameter.is_meta:
            continue  # one rank's part of a sharded tensor
        if not parameter.numel():
            continue
        samples[index] = sample = _spaced(parameter.detach())
        key = (parameter.device, parameter.dtype, len(sample))
        members.setdefault(key, []).append(index)
    return [
        _group(moment, indices, [samples[i] for i in indices], rates)
        for indices in members.values()
    ]


def _group(
    moment: Moment,
    indices: list[int],
    samples: list[torch.Tensor],
    rates: dict[int, float | torch.Tensor],
) -> _Group:
    parameters = [moment.tensors.parameters[i] for i in indices]
    count, like = len(samples[0]), samples[0]
    has_gradient = torch.stack([_moving(p, count, rates) for p in parameters])
    scaler = moment.subject.scaler
    if scaler is not None and scaler.is_enabled():
        has_gradient &= _all_finite(moment.tensors.parameters, like.device)
    return _Group(
        ids=moment.tensors.ids[indices],
        parameters=tuple(parameters),
        before=torch.stack(samples),
        has_gradient=has_gradient,
        scales=np.sqrt([p.numel() / count for p in parameters]),
    )


def _spaced(tensor: torch.Tensor) -> torch.Tensor:
    """View evenly spaced elements; a tensor that is not contiguous is copied."""
    flat = tensor.reshape(-1)
    return flat[:: math.ceil(flat.numel() / SAMPLE)]


def _moving(
    parameter: torch.Tensor, count: int, rates: dict[int, float | torch.Tensor]
) -> torch.Tensor:
    """Tell which sampled elements the optimizer has a reason to move."""
    gradient, rate = parameter.grad, rates.get(id(parameter), 0.0)
    if gradient is None or (not isinstance(rate, torch.Tensor) and rate == 0):
        return torch.zeros(count, dtype=torch.bool, device=parameter.device)
    if gradient.layout is not torch.strided:
        moving = _touched(parameter, gradient.detach())
    else:
        moving = _spaced(gradient.detach()) != 0
    return moving & (rate > 0) if isinstance(rate, torch.Tensor) else moving


def _touched(parameter: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """Tell which sampled elements lie in rows that a sparse gradient names."""
    if gradient.layout is not torch.sparse_coo or gradient.sparse_dim() != 1:
        return _spaced(gradient.to_dense()) != 0
    # Sorting waits for a GPU; sparse gradients are rare there, and due steps few.
    rows = torch.zeros(parameter.shape[0], dtype=torch.bool, device=parameter.device)
    rows[gradient.coalesce().indices()[0]] = True
    stride = math.ceil(parameter.numel() / SAMPLE)
    flat = torch.arange(0, parameter.numel(), stride, device=parameter.device)
    return rows[flat // (parameter.numel() // parameter.shape[0])]


def _learning_rates(subject: Subject) -> dict[int, float | torch.Tensor]:
    """Give each held parameter's learning rate, by ``id(parameter)``."""
    return {
        id(parameter): group.get("lr", 1.0)
        for optimizer in subject.optimizers
        for group in optimizer.param_groups
        for parameter in group["params"]
    }


def _all_finite(
    parameters: Sequence[torch.Tensor], device: torch.device
) -> torch.Tensor:
    """Tell whether a scaler will let the update happen: it skips on any overflow."""
    gradients = [p.grad.detach() for p in parameters if p.grad is not None]
    values = [g.coalesce().values() if g.is_sparse else g for g in gradients]
    largest = [torch.isfinite(value).to(device) for value in foreach_max(values)]
    return torch.stack(largest).all() if largest else torch.tensor(True, device=device)


def _compare(group: _Group, step: int) -> Reading:
    """Queue norms and shares of one group: ``(2, n)`` values."""
    after = torch.stack([_spaced(p.detach()) for p in group.parameters])
    change = after.float() - group.before.float()
    stuck = group.has_gradient & (after == group.before)
    counts = torch.stack((stuck, group.has_gradient)).sum(2, dtype=torch.float32)
    norms = torch.linalg.vector_norm(change, dim=1)
    values = torch.cat((norms, counts[0] / counts[1]))

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        norm, share = flat.reshape(2, -1)
        update = (norm * group.scales).astype(np.float32)
        columns = {"update_l2": update, "stuck_share": share}
        yield Block(UpdateProbe.table, step, group.ids, columns)

    return Reading(values, finish)
