"""Whether an update comes while accelerate is in the middle of an accumulation."""

import sys
from typing import Any


def tell_where(entry: dict[str, Any], *, within: bool) -> None:
    """Say of an update that it is a part of another one, or comes too early."""
    if within:
        entry["detail"]["within"] = True
    gathered = micro_batches_to_gather()
    if gathered:
        entry["detail"]["accumulating"] = gathered


def micro_batches_to_gather() -> int:
    """Return how many micro-batches accelerate gathers, 0 where it would step now.

    Nothing is imported and nothing is made: making a ``GradientState`` of one's own
    would set it up.
    """
    state: Any = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    known = getattr(state, "_shared_state", None)
    if not known or known.get("sync_gradients", True):
        return 0
    asked = (known.get("plugin_kwargs") or {}).get("num_steps", 1)
    return int(asked) if isinstance(asked, int) and asked > 1 else 0
