"""What a trainer's step moves besides the model: counters, metrics, buffers.

Every attribute of the trainer is bound again to what it was bound to, and dictionaries,
lists, sets, queues and dataclasses of it hold again what they held. So a buffer of
generated text, filled once and read over several steps, is filled again by a replay and
read at the same place. What cannot be put back, the inside of other objects, is looked
at: `SideState.moved` names it.
"""

import dataclasses
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch

DEPTH = 4
"""Levels of containers within containers that are kept."""
LARGE = 1_000
"""A container with more items is kept without what its items hold."""
LARGEST = 20_000
"""A container with more items is not kept: it is a data set, not a buffer."""

_CONTAINERS = (dict, list, set, deque)
_PLAIN = (bool, int, float, str, type(None))
_NOT_ITS_OWN = (
    torch.nn.Module,
    torch.Tensor,
    torch.optim.Optimizer,
    torch.optim.lr_scheduler.LRScheduler,
    torch.utils.data.DataLoader,
    torch.utils.data.Dataset,
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    type,
)
"""The capsule keeps these, or no step changes them."""


class SideState:
    """The attributes of ``owner`` at the start of a step.

    Parameters
    ----------
    owner
        A trainer, or ``None`` when there is nothing to keep.

    Examples
    --------
    >>> import types
    >>> from ftlab.replay.capsules.side_state import SideState
    >>> trainer = types.SimpleNamespace(calls=1, metrics={"loss": [0.5]})
    >>> kept = SideState(trainer)
    >>> trainer.calls, trainer.late = 2, True
    >>> trainer.metrics["loss"].append(0.4)
    >>> kept.restore()
    >>> trainer
    namespace(calls=1, metrics={'loss': [0.5]})
    """

    def __init__(self, owner: Any) -> None:
        self._attributes = {} if owner is None else vars(owner)
        self._values = dict(self._attributes)
        self._contents: list[Callable[[], None]] = []
        self._objects: list[tuple[str, Any, Any]] = []
        for name, value in self._values.items():
            if (
                isinstance(value, _PLAIN) or name == "args"
            ):  # no step moves its arguments
                continue
            if isinstance(value, _CONTAINERS):
                self._contents += _kept(value, DEPTH)
            elif dataclasses.is_dataclass(value) and hasattr(value, "__dict__"):
                self._contents += _kept(vars(value), DEPTH)  # TrainerState for one
            elif hasattr(value, "__dict__") and not isinstance(value, _NOT_ITS_OWN):
                self._objects.append((name, value, _outline(value)))

    @property
    def moved(self) -> tuple[str, ...]:
        """Name the objects that have changed since and cannot be put back."""
        changed = [
            f"{name} (a {type(value).__name__})"
            for name, value, before in self._objects
            if _outline(value) != before
        ]
        return tuple(changed)

    def restore(self) -> None:
        """Put everything back, in the same containers."""
        live = self._attributes
        for name in [name for name in live if name not in self._values]:
            del live[name]
        live.update(self._values)
        for put_back in self._contents:
            put_back()


def _kept(live: Any, depth: int) -> Iterator[Callable[[], None]]:
    """Yield what puts the contents of a container back, and those of its items."""
    if len(live) > LARGEST:
        return
    before = live.copy()
    yield lambda: _refill(live, before)
    if depth == 0 or len(live) > LARGE:
        return
    for item in [*(live.values() if isinstance(live, dict) else live)]:
        if isinstance(item, _CONTAINERS):
            yield from _kept(item, depth - 1)


def _refill(live: Any, before: Any) -> None:
    """Make ``live`` hold what ``before`` holds; a defaultdict stays one."""
    if isinstance(live, dict):
        for key in [key for key in live if key not in before]:
            del live[key]
        live.update(before)
    elif isinstance(live, list):
        live[:] = before
    else:
        live.clear()
        (live.update if isinstance(live, set) else live.extend)(before)


def _outline(value: Any) -> dict[str, Any]:
    """Note the counters of an object, and how much its containers hold."""
    found: dict[str, Any] = {}
    for name, each in vars(value).items():
        if isinstance(each, _PLAIN):
            found[name] = each
        elif isinstance(each, _CONTAINERS):
            found[name] = len(each)
        else:
            found[name] = id(each)
    return found
