"""When a probe measures: functions from a step to a truth value."""

from collections.abc import Callable

from ftlab.records.errors import BadValueError

Schedule = Callable[[int], bool]


def every_step(step: int) -> bool:
    """Measure at each step, whatever it costs."""
    return step >= 0


DENSE = 4
"""Steps at the beginning of a run that are all measured: most faults show in them."""


class Turn:
    """Steps at a distance, unless somebody who keeps a budget decides otherwise.

    Attributes
    ----------
    interval
        Number of steps from one measurement to the next.
    decide
        Set by `ftlab.probes.budget.Budget`: tells which steps are measured.
    """

    __slots__ = ("decide", "interval")

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self.decide: Schedule | None = None

    def __call__(self, step: int) -> bool:
        """Tell whether to measure at a step."""
        return self.planned(step) if self.decide is None else self.decide(step)

    def planned(self, step: int) -> bool:
        """Tell whether to measure at a step if time does not matter."""
        return (
            step % self.interval == 0
            or 0 <= step < DENSE
            or (step < self.interval and step.bit_count() == 1)
        )


class Seldom(Turn):
    """Steps at a distance, and no more of them at first: for what takes long."""

    __slots__ = ()

    def planned(self, step: int) -> bool:
        """Tell whether to measure at a step if time does not matter."""
        return step % self.interval == 0


class Full(Turn):
    """Each step that is measured in full: what it costs is part of that."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1)


class Samples:
    """The first steps that it is asked for, and then seldom, whatever that costs.

    Parameters
    ----------
    interval
        Number of steps from one to the next; where it is not asked for that very step,
        the first one after it that it is asked for.

    Examples
    --------
    >>> from ftlab.probes.schedule import Samples
    >>> due = Samples(8)
    >>> [step for step in range(40, 64) if due(step)]
    [40, 41, 42, 43, 48, 56]
    """

    __slots__ = ("_first", "_interval", "_latest", "_times")

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._first: int | None = None
        self._latest = self._times = 0

    def __call__(self, step: int) -> bool:
        """Tell whether to look at a step."""
        if self._first is None or step < self._first:
            self._first = step
            self._latest = self._times = 0
        since = step - self._first
        if since // self._interval > self._times:
            self._times, self._latest = since // self._interval, since
        return since < DENSE or since == self._latest


def every(interval: int) -> Turn:
    """Measure at steps 0, ``interval``, 2 x ``interval``, ..., and more often at first.

    What is wrong from the start shows within a few steps, and should not wait for the
    first interval to be over: the first steps are measured all, then steps 8, 16, ...
    Of ``every(1)`` and `every_step` the former alone is stretched to keep a budget.

    Parameters
    ----------
    interval
        Number of optimizer steps, at least 1.

    Examples
    --------
    >>> from ftlab.probes.schedule import every
    >>> [step for step in range(50) if every(16)(step)]
    [0, 1, 2, 3, 4, 8, 16, 32, 48]
    """
    if interval < 1:
        msg = f"every({interval!r}): the interval must be at least 1 step."
        raise BadValueError(msg)
    return Turn(interval)
