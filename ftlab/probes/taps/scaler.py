"""Sees gradient scaling: ``scale``, ``unscale_``, ``step`` and ``update``.

All scalers of the process are seen, through their class, so that a scaler need not be
handed over. One that was, and does not derive from ``torch.amp.GradScaler``, has its
own class rebound.
"""

from collections.abc import Callable
from typing import Any

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import Handle, HandleStack


def tap_scaler(listener: Listener, kind: type) -> Handle:
    """Tell what every enabled scaler of this kind and of its subclasses does."""
    handles = HandleStack()
    for name, around in _stand_ins(listener).items():
        handles.add(rebind_method(kind, name, _once(around)))
    return handles


def _stand_ins(listener: Listener) -> dict[str, Callable[..., Any]]:
    def scale(original: Any, scaler: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(scaler, *args, **kwargs)
        given = args[0] if args else kwargs.get("outputs")
        listener.on_scale(scaler, given, result)
        return result

    def unscale(original: Any, scaler: Any, optimizer: Any) -> Any:
        result = original(scaler, optimizer)
        listener.after_unscale(scaler, optimizer)
        return result

    def step(
        original: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any
    ) -> Any:
        listener.before_scaler_step(scaler, optimizer)
        result = original(scaler, optimizer, *args, **kwargs)
        listener.after_scaler_step(scaler, optimizer)
        return result

    def update(original: Any, scaler: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(scaler, *args, **kwargs)
        listener.after_scaler_update(scaler)
        return result

    return {"scale": scale, "unscale_": unscale, "step": step, "update": update}


def _once(around: Callable[..., Any]) -> Callable[..., Any]:
    """Let only the outermost of nested calls be told: a subclass may call its base."""
    leave_to_python(around)
    nesting = Nesting()

    def outermost(original: Any, scaler: Any, *args: Any, **kwargs: Any) -> Any:
        if nesting.inside or not scaler.is_enabled():
            return original(scaler, *args, **kwargs)
        with nesting:
            return around(original, scaler, *args, **kwargs)

    return outermost
