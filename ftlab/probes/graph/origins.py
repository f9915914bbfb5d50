"""Where the NaN of a loss, or of its gradients, begins: the operation, by name.

Who calls whom: when backward is about to begin (`Origins._look`), a loss on the CPU is
read, which costs nothing there; on another device one is read only after it was seen,
a step late, not to be finite. The graph of a loss that is not finite is asked for the
operation that made it so. On due steps the operations whose derivative may be no number
are looked at on the device, for gradients that are NaN although the loss is finite.
"""

import itertools
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.nan_makers import GIVEN, Maker, maker_of
from ftlab.probes.graph.steep_places import Flag, steep_places
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.schedule import every
from ftlab.probes.stepping.backward_ear import hear_backward
from ftlab.probes.subject import Subject
from ftlab.probes.tensors.reductions import l2_norms
from ftlab.probes.torch_private import has_values
from ftlab.records.event import Event
from ftlab.records.handle import Handle

KEPT = 8
"""Origins that are told of in a run: those that follow have the same one."""


class Origins(HookedProbe):
    """Tell which operation made a loss or its gradients NaN or infinite."""

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self._due = every(interval)
        self._subject: Subject | None = None
        self._step = 0
        self._seen = -1
        self._maker: Maker | None = None
        self._flags: list[Flag] = []
        self._losses: list[torch.Tensor] = []
        self._armed = False
        self._told = 0

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Listen for backward."""
        self._told, self._armed, self._subject = 0, False, subject
        return [hear_backward(self._look, self._fail)]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Note which step it is."""
        if self._step != moment.step:
            self._step, self._maker = moment.step, None
            self._flags, self._losses = [], []
        return ()

    def _look(self, losses: Sequence[Any]) -> None:
        scalars = [
            each.detach().reshape(()).float()
            for each in losses
            if isinstance(each, torch.Tensor) and each.numel() == 1
        ]
        if not scalars or len(scalars) < len(losses):
            return
        if self._is_bad(scalars):
            if self._maker is None and self._told < KEPT:
                self._maker = maker_of(losses) if self._sound() else None
                self._armed = False
            return
        if scalars[0].device.type != "cpu":
            self._losses = [sum(scalars, scalars[0].new_zeros(()))]
        if self._due(self._step) and self._seen != self._step:
            self._seen = self._step  # the first micro-batch of a step
            self._flags = steep_places(losses)

    def _is_bad(self, losses: Sequence[torch.Tensor]) -> bool:
        """Tell whether a loss is not finite; without waiting for a device."""
        free = self._armed or all(each.device.type == "cpu" for each in losses)
        return free and not all(math.isfinite(float(each)) for each in losses)

    def _sound(self) -> bool:
        """Tell whether no weight is NaN; one that is would be the cause."""
        subject = self._subject
        if subject is None or subject.gone:
            return False
        model = subject.model
        held = itertools.chain(model.parameters(), model.buffers())
        floats = (each.detach() for each in held if each.is_floating_point())
        return not any(each.sum().isnan() for each in floats if has_values(each))

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what was found; the last reading counts."""
        self._raise_failure()
        maker, makers = self._maker, [maker for maker, _ in self._flags]
        if maker is None and not makers and not self._losses:
            return []
        known = [*self._losses, *(flag for _, flag in self._flags)]
        known += _sizes(moment) if makers else []
        device = known[0].device if known else torch.device("cpu")
        values = [each.to(device, torch.float32) for each in known]
        first, step = len(self._losses), moment.step
        last = first + len(makers)

        def finish(flat: NDArray[np.float32]) -> Iterable[Event]:
            self._armed |= not np.isfinite(flat[:first]).all()
            steep = zip(makers, flat[first:last].tolist(), strict=True)
            harmed = not np.isfinite(flat[last:]).all()
            found = [each for each, up in steep if up and harmed]
            yield from self._tell(maker, found, step)

        flat = torch.stack(values) if values else torch.zeros(0, device="cpu")
        return [Reading(flat, finish)]

    def _tell(
        self, maker: Maker | None, steep: Sequence[Maker], step: int
    ) -> Iterable[Event]:
        if maker is not None and maker.reason != GIVEN:
            self._told += 1
            yield _event("loss", [maker], step)
        elif steep:
            yield _event("gradients", steep, step)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of what was found."""
        self._maker, self._flags, self._losses = None, [], []
        return {}


def _sizes(moment: Moment) -> list[torch.Tensor]:
    """Give the sum of all gradients' norms, on each device that has some."""
    found: dict[torch.device, list[torch.Tensor]] = {}
    for parameter in moment.tensors.parameters:
        if parameter.grad is not None:
            found.setdefault(parameter.grad.device, []).append(parameter.grad)
    return [l2_norms(gradients).sum() for gradients in found.values()]


def _event(of: str, makers: Sequence[Maker], step: int) -> Event:
    """Tell of the first operation of each reason: those that follow inherit."""
    first: dict[str, Maker] = {}
    for maker in makers:
        first.setdefault(maker.reason, maker)
    ops = dict.fromkeys(op for maker in first.values() for op in maker.ops)
    reasons = list(first)
    detail = {"of": of, "ops": list(ops)[:KEPT], "reasons": reasons[:KEPT]}
    words = f"{' and '.join(reasons)} in {', '.join(ops)}"
    return Event("origin", step, time.time(), words, detail)
