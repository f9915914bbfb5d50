"""The steps that lie behind: what it takes to look at them again, within a budget.

Each call of the step leaves its capsule behind, and each optimizer step the copies of
the weights that it changed. With the first copies that were made after a call, its
weights are there again. What is oldest goes first when the budget is used up.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.records.errors import NotReplayableError
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.update_capsule import UpdateCapsule
from ftlab.replay.control import Command

Weights = Sequence[tuple[torch.nn.Parameter, torch.Tensor]]
"""Parameters with values."""

LONGEST = 64
"""Calls that are kept at most, however small they are."""


@dataclass(frozen=True, slots=True)
class PastStep:
    """One call of the step, as it began.

    Attributes
    ----------
    function, capsule
        What was called, and its start.
    step, micro_batch
        Its place in the run.
    updates
        The optimizer steps that came after it began and before the next call.
    """

    function: Callable[..., Any]
    capsule: Capsule
    step: int
    micro_batch: int
    updates: list[UpdateCapsule]

    @property
    def nbytes(self) -> int:
        """What it keeps from being freed."""
        return self.capsule.nbytes + sum(update.nbytes for update in self.updates)


class Past:
    """The calls so far; the last one is the present.

    Parameters
    ----------
    budget
        Bytes that they may keep.

    Attributes
    ----------
    here
        The index of the call that is being looked at.
    """

    def __init__(self, budget: int) -> None:
        self.here = -1
        self._budget = budget
        self._calls: deque[PastStep] = deque(maxlen=LONGEST)

    def begin(
        self, function: Callable[..., Any], capsule: Capsule, step: int, batch: int
    ) -> None:
        """Note a call that begins; it is the present from now on."""
        self._calls.append(PastStep(function, capsule, step, batch, []))
        kept = sum(call.nbytes for call in self._calls)
        while len(self._calls) > 1 and kept > self._budget:
            kept -= self._calls.popleft().nbytes
        self.here = len(self._calls) - 1

    def forget(self) -> None:
        """Begin a new run."""
        self._calls.clear()
        self.here = -1

    def updated(self, update: UpdateCapsule | None) -> None:
        """Note an optimizer step; without copies of it nothing leads back over it."""
        if update is None:
            self._calls.clear()
        elif self._calls:
            self._calls[-1].updates.append(update)

    def begin_again(self) -> None:
        """Take back what the earlier micro-batches of the present step have left."""
        now = self._calls[-1].step if self._calls else 0
        under_way = [call for call in self._calls if call.step == now]
        if not under_way or under_way[0].micro_batch or under_way[-1].updates:
            return  # its beginning is gone, or its end has come
        for call in reversed(under_way):
            if call.capsule.obstacle() is None:
                call.capsule.restore()

    def roll_back(self, steps: int) -> int:
        """Put weights, optimizer state and buffers back; forget the calls up to now.

        Returns
        -------
        int
            How many optimizer steps were taken back.
        """
        now = self._calls[-1].step if self._calls else 0
        undone = [call for call in self._calls if call.step >= now - steps]
        for call in reversed(undone):
            for update in reversed(call.updates):
                update.restore_values()
            call.capsule.restore_buffers()
        self.forget()
        return now - undone[0].step if undone else 0

    @property
    def reach(self) -> int:
        """How many optimizer steps back it leads from the present."""
        return self._calls[-1].step - self._calls[0].step if self._calls else 0

    @property
    def calls(self) -> Sequence[PastStep]:
        """All calls that are kept, the present last."""
        return tuple(self._calls)

    def target(self, command: Command, *, at_start: bool) -> int:
        """Return the call that a whole ``step`` or ``back`` leads to from `here`.

        Back leads to the start of what is under way, or from there to the one before.
        Below zero it leads too far; from ``len(calls)`` on, past the present.
        """
        calls = self._calls
        if command.unit == "micro-batch":
            if command.verb == "step":
                return self.here + command.count
            return self.here + 1 - command.count - at_start
        steps = [call.step for call in calls]
        firsts = [i for i, step in enumerate(steps) if step not in steps[:i]]
        under_way = max(i for i, first in enumerate(firsts) if first <= self.here)
        if command.verb == "step":
            later = under_way + command.count
        else:
            begins = at_start and firsts[under_way] == self.here
            later = under_way + 1 - command.count - begins
        if later < 0:
            return -1
        return firsts[later] if later < len(firsts) else len(calls)

    def leads_away(self, command: Command, *, at_start: bool) -> bool:
        """Say whether a whole ``back`` leads to an earlier call."""
        if not self._calls or command.verb != "back" or not command.whole:
            return False
        return self.here > 0 and self.target(command, at_start=at_start) != self.here

    def check(self, command: Command, *, at_start: bool) -> None:
        """Refuse a ``back`` that leads further than the copies do.

        Raises
        ------
        NotReplayableError
            With how far they lead.
        """
        if not command.whole or not self._calls:
            return
        if self.target(command, at_start=at_start) >= 0:
            return
        first = self._calls[0]
        size = max(sum(u.nbytes for u in call.updates) for call in self._calls)
        more = f" A step takes {size:,} of its bytes." if size else ""
        msg = (
            f"back(to={command.unit!r}, count={command.count}): kept states reach back "
            f"to step {first.step}, micro-batch {first.micro_batch}. They are limited "
            f"by memory_budget= of ftlab.debug, here {self._budget:,}.{more}"
        )
        raise NotReplayableError(msg)

    def weights(self) -> Weights:
        """Copy the weights that the kept optimizer steps have changed."""
        updates = [update for call in self._calls for update in call.updates]
        changed = {parameter for update in updates for parameter, _ in update.weights}
        return [(p, p.detach().clone()) for p in changed]

    def put_back(self, index: int, present: Weights) -> None:
        """Give the weights the values that they had in the call at ``index``."""
        then = dict(present)
        for call in reversed(self.calls[index:]):
            for update in reversed(call.updates):
                then.update(update.weights)
        put(list(then.items()))


def put(weights: Weights) -> None:
    """Write values into parameters in place."""
    with torch.no_grad():
        for parameter, value in weights:
            parameter.detach().copy_(value)
