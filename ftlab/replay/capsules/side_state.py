"""Counters and metric buffers of a trainer, which its step moves besides the model."""

from typing import Any

METRIC_BUFFERS = ("_metrics", "_stored_metrics")
"""Where TRL's trainers collect what they log."""

_PLAIN = (bool, int, float, str, type(None))


class SideState:
    """The plain attributes and metric buffers of ``owner`` at the start of a step.

    Parameters
    ----------
    owner
        A trainer, or ``None`` when there is nothing to keep.
    """

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        attributes = {} if owner is None else vars(owner)
        self._plain = {k: v for k, v in attributes.items() if isinstance(v, _PLAIN)}
        self._buffers = {
            name: _structure(attributes[name])
            for name in METRIC_BUFFERS
            if name in attributes
        }

    def restore(self) -> None:
        """Put everything back, in the same containers."""
        if self._owner is None:
            return
        vars(self._owner).update(self._plain)
        for name, before in self._buffers.items():
            _refill(vars(self._owner)[name], before)


def _structure(value: Any) -> Any:
    """Copy dictionaries and lists; what they hold is shared."""
    if isinstance(value, dict):
        return {key: _structure(item) for key, item in value.items()}
    return list(value) if isinstance(value, list) else value


def _refill(live: Any, before: Any) -> None:
    """Make ``live`` hold what ``before`` holds and keep its containers.

    A defaultdict stays one: it is emptied and filled, not replaced.
    """
    if isinstance(live, list):
        live[:] = before
        return
    for key in [key for key in live if key not in before]:
        del live[key]
    for key, item in before.items():
        if isinstance(live.get(key), dict | list):
            _refill(live[key], item)
        else:
            live[key] = item
