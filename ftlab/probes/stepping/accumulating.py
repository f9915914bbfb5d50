"""Whether an update comes while accelerate is in the middle of an accumulation."""

import inspect
import sys
from typing import Any


def tell_where(entry: dict[str, Any], *, within: bool) -> None:
    """Say of an update that it is a part of another one, or comes too early."""
    if within:
        entry["detail"]["within"] = True
    gathered = micro_batches_to_gather()
    if gathered:
        entry["detail"]["accumulating"] = gathered
    elif asked_for() and _is_at_end():
        entry["detail"]["end_of_data"] = True


def micro_batches_to_gather() -> int:
    """Return how many micro-batches accelerate gathers, 0 where it would step now."""
    known = _state()
    return 0 if known.get("sync_gradients", True) else asked_for()


def asked_for() -> int:
    """Return how many micro-batches accelerate was told to gather, 0 for one."""
    asked = (_state().get("plugin_kwargs") or {}).get("num_steps", 1)
    return int(asked) if isinstance(asked, int) and asked > 1 else 0


def divided_by() -> int:
    """Return by how many accelerate divides the loss whose backward begins, 0 for none.

    Its state is that of the process, and may be left of another loop: only where its
    own ``backward`` is among the callers does it divide.
    """
    kind: Any = getattr(sys.modules.get("accelerate"), "Accelerator", None)
    code = getattr(getattr(kind, "backward", None), "__code__", None)
    frame = inspect.currentframe() if code and asked_for() else None
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return 0 if frame is None else asked_for()


def _is_at_end() -> bool:
    """Tell whether a prepared loader is at its end: accelerate steps then."""
    loaders = _state().get("_dataloader_references_ref") or [None]
    active = loaders[-1]() if callable(loaders[-1]) else None
    return getattr(active, "end_of_dataloader", False) is True


def _state() -> dict[str, Any]:
    """Read accelerate's state; nothing is imported and nothing is made.

    Making a ``GradientState`` of one's own would set it up.
    """
    state: Any = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    return getattr(state, "_shared_state", None) or {}
