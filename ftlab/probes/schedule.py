"""When a probe measures: functions from a step to a truth value."""

from collections.abc import Callable

from ftlab.records.errors import BadValueError

Schedule = Callable[[int], bool]


def every_step(step: int) -> bool:
    """Measure at each step."""
    return step >= 0


def every(interval: int) -> Schedule:
    """Measure at steps 0, ``interval``, 2 x ``interval``, ...

    Parameters
    ----------
    interval
        Number of optimizer steps, at least 1.

    Examples
    --------
    >>> from ftlab.probes.schedule import every
    >>> [step for step in range(7) if every(3)(step)]
    [0, 3, 6]
    """
    if interval < 1:
        msg = f"every({interval!r}): the interval must be at least 1 step."
        raise BadValueError(msg)
    return lambda step: step % interval == 0
