"""Learning rates and other options of optimizers, and the schedulers that move them."""

from typing import Any

import torch

from ftlab.replay.capsules.kept import KeptTensor


class KeptOptions:
    """The options of an optimizer's groups at the start of a step."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.subject = optimizer
        groups = optimizer.param_groups
        self._groups = [_Entries(group, without=("params",)) for group in groups]

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The options of each group, without its parameters."""
        return [entries.before() for entries in self._groups]

    def restore(self) -> None:
        """Put every option back."""
        for entries in self._groups:
            entries.restore()


class KeptScheduler:
    """The state of a learning-rate scheduler before a step first moves it."""

    def __init__(self, scheduler: Any) -> None:
        self.subject = scheduler
        self._entries = _Entries(vars(scheduler), without=("optimizer",))

    def restore(self) -> None:
        """Undo the scheduler's steps; rates are options of the optimizer."""
        self._entries.restore()


class _Entries:
    """What a dictionary held: values, and copies of lists and tensors."""

    def __init__(self, live: dict[str, Any], without: tuple[str, ...]) -> None:
        self._live = live
        self._without = without
        self._values = {k: v for k, v in live.items() if k not in without}
        values = self._values.values()
        self._lists = [(v, v.copy()) for v in values if isinstance(v, list)]
        self._tensors = [
            KeptTensor.of("an option", value)
            for value in values
            if isinstance(value, torch.Tensor)
        ]

    def before(self) -> dict[str, Any]:
        copies: list[tuple[Any, Any]] = [(v, kept.copy()) for v, kept in self._lists]
        copies += [(kept.tensor, kept.value) for kept in self._tensors]
        found = {id(live): copy for live, copy in copies}
        return {name: found.get(id(v), v) for name, v in self._values.items()}

    def restore(self) -> None:
        known = (*self._values, *self._without)
        for name in [name for name in self._live if name not in known]:
            del self._live[name]
        self._live.update(self._values)
        for live, before in self._lists:
            live[:] = before
        for kept in self._tensors:
            kept.restore()
