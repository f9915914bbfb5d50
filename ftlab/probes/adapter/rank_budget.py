"""What AdaLoRA's rank allocator is told of the time, and how many ranks are left.

Nothing in a model calls the allocator: the loop must, once for each step, with the
number of the step. So the calls are heard, and the ranks that they leave are counted.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.by_id import ById
from ftlab.records.handle import Handle
from ftlab.records.step import Column

METHOD = "update_and_allocate"

_OWNERS = (
    ("peft.tuners.adalora.model", "AdaLoraModel"),
    ("peft.tuners.adalora.layer", "RankAllocator"),
)
"""Both are heard: where there is no PeftModel users call the allocator itself."""


class RankBudget(Probe):
    """Count the ranks that are not 0, and note the step that the allocator was told."""

    columns = (
        Column("ranks", "1", "Ranks of all AdaLoRA layers together."),
        Column("ranks_kept", "1", "Those whose singular value is not 0."),
        Column("allocator_step", "1", "The step that the allocator was told last."),
    )

    def __init__(self) -> None:
        self._told: list[float] = []
        self._known: ById[torch.nn.Module, None] = ById()

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Stand in for the calls; a PEFT that is imported later is not heard."""
        self._known.clear()
        for module, name in _OWNERS:
            owner = getattr(sys.modules.get(module), name, None)
            if isinstance(owner, type):
                yield rebind_method(owner, METHOD, self._hearing(subject))

    def _hearing(self, subject: Subject) -> Callable[..., Any]:
        def around(
            original: Callable[..., Any], owner: Any, *args: Any, **kwargs: Any
        ) -> Any:
            result = original(owner, *args, **kwargs)
            model = next((a for a in (owner, *args) if _is_module(a)), None)
            if model is not None and self._is_mine(subject, model):
                told = [*args, kwargs.get("global_step")]
                self._told += [float(n) for n in told if isinstance(n, int | float)][:1]
            return result

        return around

    def _is_mine(self, subject: Subject, model: torch.nn.Module) -> bool:
        if model not in self._known:
            if not any(each is model for each in subject.model.modules()):
                return False
            self._known[model] = None
        return True

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Count what the last allocation left, before the optimizer moves it."""
        values = _singular_values(moment)
        self.rests = not values and not self._told
        if values:
            total = sum(each.numel() for each in values)
            device = values[0].device
            whole = torch.cat([each.detach().flatten().to(device) for each in values])
            kept = (whole != 0).sum(dtype=torch.float32)
            yield Reading(kept.reshape(1), lambda read: _counts(read, total))

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the last step that the allocator was told in this one."""
        told, self._told = self._told, []
        return {"allocator_step": told[-1]} if told else {}


def _counts(read: NDArray[np.float32], total: int) -> Iterable[dict[str, float]]:
    yield {"ranks": float(total), "ranks_kept": float(read[0])}


def _singular_values(moment: Moment) -> list[torch.Tensor]:
    names = zip(moment.tensors.names, moment.tensors.parameters, strict=True)
    return [parameter for name, parameter in names if "lora_E" in name]


def _is_module(value: Any) -> bool:
    return isinstance(value, torch.nn.Module)
