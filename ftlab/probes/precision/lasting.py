"""How many half-precision weights still have the value they had some steps ago.

Most updates of a small learning rate leave a bf16 weight where it is. With rounding to
the nearest they do so for ever; an optimizer that keeps what rounding took away, or
rounds by chance, moves every weight sooner or later. One update shows no difference
between the two, a comparison over many updates does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.tensors.updates import spaced
from ftlab.records.step import Block, Column

REACH = 128
"""Steps after which the comparison begins anew."""

_HALF = (torch.bfloat16, torch.float16)

Key = tuple[torch.device, torch.dtype, int]


@dataclass(frozen=True, slots=True)
class _Anchor:
    """What a group of tensors was at some step."""

    step: int
    ids: tuple[int, ...]
    sample: torch.Tensor


class Lasting(Probe):
    """Compare a sample of each trained half-precision tensor with an earlier one."""

    table: ClassVar[str] = "tensors"
    columns: ClassVar[Sequence[Column]] = (
        Column(
            "still_share",
            "1",
            "Share of sampled weights with a non-zero gradient that have the value of "
            "`still_steps` steps ago; half precision only.",
        ),
        Column("still_steps", "steps", "How long ago `still_share` looks back."),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._anchors: dict[Key, _Anchor] = {}

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Compare, before the update of this step."""
        groups: dict[Key, list[int]] = {}
        for index, parameter in enumerate(moment.tensors.parameters):
            if _is_read(parameter):
                size = len(spaced(parameter.detach()))
                key = (parameter.device, parameter.dtype, size)
                groups.setdefault(key, []).append(index)
        found = (self._read(moment, key, members) for key, members in groups.items())
        return [reading for reading in found if reading is not None]

    def _read(self, moment: Moment, key: Key, members: list[int]) -> Reading | None:
        parameters = [moment.tensors.parameters[index] for index in members]
        ids = moment.tensors.ids[members]
        now = torch.stack([spaced(p.detach()) for p in parameters])
        anchor = self._anchors.get(key)
        fits = anchor is not None and anchor.ids == tuple(ids.tolist())
        if anchor is None or not fits or moment.step - anchor.step >= REACH:
            self._anchors[key] = _Anchor(moment.step, tuple(ids.tolist()), now)
        if anchor is None or not fits:
            return None
        gradients = (p.grad for p in parameters if p.grad is not None)
        moving = torch.stack([spaced(gradient.detach()) != 0 for gradient in gradients])
        counts = torch.stack((moving & (now == anchor.sample), moving))
        still, all_moving = counts.sum(2, dtype=torch.float32)
        step, back = moment.step, np.float32(moment.step - anchor.step)

        def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
            columns = {"still_share": flat, "still_steps": np.full_like(flat, back)}
            yield Block(Lasting.table, step, ids, columns)

        return Reading(still / all_moving, finish)


def _is_read(parameter: torch.Tensor) -> bool:
    """Tell whether it is half precision, whole, and has an ordinary gradient."""
    gradient = parameter.grad
    plain = type(parameter.data) is torch.Tensor and not parameter.is_meta
    if gradient is None or gradient.layout is not torch.strided or not plain:
        return False
    return parameter.dtype in _HALF and parameter.numel() > 0
