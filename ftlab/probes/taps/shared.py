"""The taps of the process: put in at the first listener, taken out with the last.

Two models may be watched at once. If each watch rebound torch's functions for itself,
one that is detached before the other would be left within it.
"""

import threading
from collections.abc import Callable
from typing import Any

import torch

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.taps import peft
from ftlab.probes.taps.backward import tap_backward
from ftlab.probes.taps.clip import tap_clip
from ftlab.probes.taps.generation import tap_generation
from ftlab.probes.taps.listener import Listener, Shielded, is_told, shield
from ftlab.probes.taps.loading import tap_loading
from ftlab.probes.taps.optimizer import tap_held_step, tap_optimizer_step, tap_zero_grad
from ftlab.probes.taps.rebinding import one_pass
from ftlab.probes.taps.saving import tap_saving
from ftlab.probes.taps.scaler import tap_scaler
from ftlab.probes.taps.scheduler import tap_scheduler
from ftlab.probes.taps.tokenizer_saving import tap_tokenizer_saving
from ftlab.records.handle import CallbackHandle, Handle, HandleStack

_Hearing = tuple[list[Shielded], list[Any]]
"""Those that hear of an operation: shielded ones, and others."""


class Everyone:
    """A listener that passes on what it hears to all listeners.

    Those that are shielded hear it within one shield: it costs more than most of them.
    """

    def __init__(self) -> None:
        self._told: Any = shield(self._tell_shielded, _raise)
        self.listeners = ()

    @property
    def listeners(self) -> tuple[Any, ...]:
        """All of them; who hears of what is found out anew for others."""
        return self._listeners

    @listeners.setter
    def listeners(self, listeners: tuple[Any, ...]) -> None:
        self._listeners = listeners
        self._hearing: dict[str, _Hearing] = {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        def tell(*args: Any) -> None:
            known = self._hearing
            shielded, others = known.get(name) or self._find(known, name)
            if shielded:
                self._told(shielded, name, args)
            for listener in others:
                getattr(listener, name)(*args)

        leave_to_python(tell)
        setattr(self, name, tell)
        return tell

    def _find(self, known: "dict[str, _Hearing]", name: str) -> "_Hearing":
        """Find out who hears of such an operation."""
        shielded = [each for each in self.listeners if isinstance(each, Shielded)]
        others = [each for each in self.listeners if not isinstance(each, Shielded)]
        hearing = [each for each in shielded if each.wants(name)]
        known[name] = hearing, [each for each in others if hasattr(each, name)]
        return known[name]

    def _tell_shielded(
        self, listeners: list[Shielded], name: str, args: tuple[Any, ...]
    ) -> None:
        if is_told():
            for each in listeners:
                each.hear(name, args)


def _raise(error: Exception) -> None:
    raise error


_lock = threading.RLock()
_everyone: Any = Everyone()
_handles = HandleStack()
_peft_handles = HandleStack()


def listen(listener: Listener) -> Handle:
    """Tell ``listener`` of every operation until the handle is removed."""
    with _lock, one_pass():
        if not _everyone.listeners:
            _tap()
        _everyone.listeners += (listener,)
        listen_to_peft()
    return CallbackHandle(lambda: _leave(listener))


def listen_to_peft() -> None:
    """Tap PEFT if it has been imported since; listening does it where it was before.

    Nobody's import is waited for: whoever meets an adapter calls this.
    """
    with _lock:
        if _everyone.listeners and not len(_peft_handles) and peft.is_loaded():
            _peft_handles.add(peft.tap_peft(_everyone))


def _leave(listener: Listener) -> None:
    with _lock:
        others = [each for each in _everyone.listeners if each is not listener]
        _everyone.listeners = tuple(others)
        if not _everyone.listeners:
            with one_pass():
                _peft_handles.remove()
                _handles.remove()


def _tap() -> None:
    try:
        for tap in (
            tap_backward,
            tap_clip,
            tap_optimizer_step,
            tap_zero_grad,
            tap_held_step,
            tap_scheduler,
            tap_generation,
            tap_saving,
            tap_tokenizer_saving,
            tap_loading,
        ):
            _handles.add(tap(_everyone))
        _handles.add(tap_scaler(_everyone, torch.amp.GradScaler))
    except BaseException:
        _handles.remove()
        raise
