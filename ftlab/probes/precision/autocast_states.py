"""Whether autocast is on within the forward of a model that was wrapped in it.

Who calls whom: `ftlab.probes.graph.graph_flow` tells `AutocastStates` of each call of a
module while its hooks are on. accelerate puts a function in the place of the model's
own ``forward``, which autocast decorates: it is on within, and not around it. Only
values of the host are read: what ``forward`` is, and whether autocast is on.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Reading
from ftlab.records.step import Block

TABLE = "autocast"


class AutocastStates:
    """Counts the calls of a step's forward that autocast is on in.

    Attributes
    ----------
    wanted
        Whether the next step is to be looked at: it has just been seen to be off.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._on_before = False
        self._kind = ""
        self._wrapped: list[str] = []
        self._known: tuple[str, str] | None = None
        self._calls = self._inside = 0
        self._dtype = ""

    def begin(self, modules: Sequence[tuple[str, torch.nn.Module]]) -> None:
        """Begin a step: look at what each module's ``forward`` is."""
        self._calls = self._inside = 0
        self._wrapped = [path for path, module in modules if _is_decorated(module)]
        if self._known is None and not self._wrapped:
            self._kind = ""
            return
        weights = (w for _, module in modules for w in module.parameters())
        device = next((weight.device.type for weight in weights), "")
        known = device and torch.amp.is_autocast_available(device)
        self._kind = device if known else ""

    def see(self, path: str) -> None:
        """Hear that a module has run in forward.

        The model itself ends outside of its wrapper.
        """
        if not self._kind or not path:
            return
        self._calls += 1
        if torch.is_autocast_enabled(self._kind):
            self._inside += 1
            self._dtype = str(torch.get_autocast_dtype(self._kind))

    def readings(self, moment: Moment) -> Iterator[Reading]:
        """Hand over the counts, from the first step on at which it was on."""
        self.wanted = False
        if not self._calls:
            return
        if self._inside and self._wrapped:
            self._known = self._wrapped[0], self._dtype.removeprefix("torch.")
        if self._known is None:
            return
        path, dtype = self._known
        row = moment.name(TABLE, path or "model", "module", {"dtype": dtype})
        values = {
            "calls": self._calls,
            "inside": self._inside,
            "wrapped": path in self._wrapped,
        }
        ids, step = np.array([row], np.int32), moment.step
        columns = {name: np.array([v], np.float32) for name, v in values.items()}

        def finish(_: NDArray[np.float32]) -> Iterable[Block]:
            yield Block(TABLE, step, ids, columns)

        self.wanted = self._on_before and not self._inside
        self._on_before = bool(self._inside)
        yield Reading(torch.zeros(1), finish)


def _is_decorated(module: torch.nn.Module) -> bool:
    """Tell whether autocast decorates the ``forward`` that was put on a module."""
    forward: Any = vars(module).get("forward")
    while forward is not None:
        function = getattr(forward, "__func__", forward)
        code = getattr(function, "__code__", None)
        if code is not None and code.co_name == "decorate_autocast":
            return True
        forward = getattr(function, "__wrapped__", None)
    return False
