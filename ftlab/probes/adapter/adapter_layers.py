"""Which adapter layers are disabled, merged or inactive: read of the layers themselves.

Any code may flip a layer's attributes, so they are polled: at each forward, backward
and update. Each state that is met gets a number and is announced once, with the names
of its layers; the ledger holds numbers only.
"""

import operator
import sys
import weakref
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.naming import clean_name
from ftlab.probes.rows import RowBook
from ftlab.probes.subject import Subject
from ftlab.probes.taps.shared import listen_to_peft
from ftlab.probes.watched import WatchedParameters
from ftlab.records.attributes import attribute_of

TABLE = "adapter_states"
"""Under this table's name the states are announced; it has no columns."""

_FLAGS = operator.attrgetter("_disable_adapters", "_active_adapter", "merged_adapters")

LayerState = tuple[bool, tuple[str, ...], tuple[str, ...]]
"""Of one layer: whether it is disabled, what is merged into it, what is active."""


@dataclass(frozen=True, slots=True)
class AdapterLayer:
    """A layer of PEFT's: its clean path, and the module, held weakly.

    Attributes
    ----------
    mergeable
        Whether it can be merged; a module that is saved as a whole cannot.
    """

    path: str
    reference: "weakref.ref[torch.nn.Module]"
    mergeable: bool

    def state(self) -> LayerState:
        """Read the layer's attributes; nothing is called and nothing is computed."""
        layer: Any = self.reference()
        if layer is None:
            return (False, (), ())
        own = vars(layer)
        merged = own.get("merged_adapters") or ()
        active = own.get("_active_adapter", ())
        if isinstance(active, str):
            active = (active,)
        # Very old versions keep the flag under the property's name.
        disabled = own.get("_disable_adapters", own.get("disable_adapters", False))
        return (bool(disabled), tuple(merged), tuple(active))

    def serves(self, active: Collection[str]) -> bool:
        """Tell whether it has something to do where these adapters are active.

        A module that is saved as a whole has nothing to do for an adapter without a
        copy of it; PEFT before 0.19 disables it then.
        """
        copies = attribute_of(self.reference(), "modules_to_save", None)
        return (
            self.mergeable or copies is None or any(name in copies for name in active)
        )


class AdapterLayers:
    """The adapter layers of the watched model, found anew when its parameters change.

    Parameters
    ----------
    subject
        What is watched.
    watched
        Knows when the model has got or lost parameters.
    book
        Gives each state its number and announces it.

    Attributes
    ----------
    number
        Of the state that was read last.
    """

    def __init__(
        self, subject: Subject, watched: WatchedParameters, book: RowBook
    ) -> None:
        self._subject = subject
        self._watched = watched
        self._book = book
        self._layers: list[AdapterLayer] = []
        self._ids: frozenset[int] = frozenset()
        self._mark: tuple[int, bool] = (-1, False)
        self._last: list[LayerState] | None = None
        self._glanced: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.number = -1

    def state(self, *, again: bool = True) -> dict[str, int]:
        """Return the number of the state that the layers are in now, for the ledger.

        Empty as long as the model never had an adapter layer. Unless it is to be read
        ``again``, the state is that of the last time, as long as the layers are.
        """
        found = self._find()
        if not self._layers and not self._numbers:
            return {}
        if not (again or found) and self._last is not None:
            return {"adapter_state": self.number}
        glance = self._glance()
        if not glance or glance != self._glanced:
            self._glanced = glance
            states = [layer.state() for layer in self._layers]
            if states != self._last:
                self._last = states
                self.number = self._number_of(states)
        return {"adapter_state": self.number}

    def _glance(self) -> list[tuple[Any, ...]]:
        """Copy what `AdapterLayer.state` reads, in a tenth of the time.

        Empty where a layer lacks some of it.
        """
        try:
            read = [_FLAGS(layer.reference()) for layer in self._layers]
        except AttributeError:
            return []
        return [(off, *active, None, *merged) for off, active, merged in read]

    def running(self) -> frozenset[str]:
        """Return the adapters that ran in the state that was read last."""
        states = (each for each in self._last or () if not each[0])
        return frozenset(name for _, _, active in states for name in active)

    def merged(self) -> frozenset[str]:
        """Return the paths of the layers that are merged now."""
        self._find()
        states = ((layer.path, layer.state()) for layer in self._layers)
        return frozenset(path for path, (_, merged, _) in states if merged)

    def holds(self, layer: torch.nn.Module) -> bool:
        """Tell whether ``layer`` is one of these."""
        return id(layer) in self._ids

    def path_of(self, module: torch.nn.Module) -> str:
        """Return the path of one of these layers."""
        found = (e.path for e in self._layers if e.reference() is module)
        return next(found, "")

    def lost(self) -> bool:
        """Look for the layers again, and tell whether there are fewer than before."""
        before = len(self._layers)
        self.forget()
        self._find()
        return len(self._layers) < before

    def forget(self) -> None:
        """Look for the layers again when they are asked for next."""
        self._mark = (-1, False)

    def _find(self) -> bool:
        mark = (self._watched.changes, self._watched.stale)
        if mark == self._mark:
            return False
        self._mark = mark
        found = list(adapter_layers(self._subject.model))
        if found:
            listen_to_peft()
        if [e.reference() for e in found] != [e.reference() for e in self._layers]:
            self._last, self._glanced = None, []
        self._layers = found
        self._ids = frozenset(id(each.reference()) for each in found)
        return True

    def _number_of(self, states: list[LayerState]) -> int:
        paths = tuple(layer.path for layer in self._layers)
        key = (paths, *states)
        if key not in self._numbers:
            name = f"state {len(self._numbers)}"
            meta = self._described(states)
            self._numbers[key] = self._book.name(TABLE, name, "adapter", meta)
        return self._numbers[key]

    def _described(self, states: list[LayerState]) -> dict[str, str | int]:
        """Put a state into words; names are joined by commas."""
        every = list(zip(self._layers, states, strict=True))
        tuned = [state for layer, state in every if layer.mergeable] or states
        active = {name for state in tuned for name in state[2]}
        pairs = [(layer, state) for layer, state in every if layer.serves(active)]
        disabled = [layer.path for layer, state in pairs if state[0]]
        merged = [layer.path for layer, state in pairs if state[1]]
        return {
            "role": "adapter_state",
            "layers": len(pairs),
            "mergeable": sum(layer.mergeable for layer in self._layers),
            "disabled": len(disabled),
            "merged": len(merged),
            "active": _joined(iter(active)),
            "merged_adapters": _joined(name for state in states for name in state[1]),
            "disabled_layers": ",".join(disabled),
            "merged_layers": ",".join(merged),
        }


def adapter_layers(model: torch.nn.Module) -> Iterator[AdapterLayer]:
    """Find the layers of every PEFT method that is built from layers."""
    if "peft" not in sys.modules:
        return
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import ModulesToSaveWrapper

    for path, module in model.named_modules():
        if isinstance(module, BaseTunerLayer | ModulesToSaveWrapper):
            mergeable = isinstance(module, BaseTunerLayer)
            yield AdapterLayer(clean_name(path), weakref.ref(module), mergeable)


def _joined(names: Iterator[str]) -> str:
    return ",".join(sorted(set(names)))
