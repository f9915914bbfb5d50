"""One optimizer step: looked at when it is over, and run again where it went wrong.

Gradients that are finite can still make weights or moments that are not: a variance
that overflows, an epsilon that underflows. After each step the debugger looks at what
the optimizer has written. When something became non-finite, weights and state are put
back and the optimizer runs again under the tracer, as the step itself does.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ftlab.replay.capsules.update_capsule import UpdateCapsule, Updated, held
from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop
from ftlab.replay.torch_private import bare_step
from ftlab.replay.tracing.finite import all_finite, non_finite, surely_finite
from ftlab.replay.tracing.modules import clean_name
from ftlab.replay.update_replay import (
    Key as Key,
    UpdateReplay,
    Written,
    not_located,
    written as written,
)


class UpdateCall:
    """A step that an optimizer is about to make.

    Parameters
    ----------
    optimizer
        It steps.
    args, kwargs
        What its ``step`` is called with, itself included.
    known
        What was non-finite before; completed by `broken`.
    updated
        What its steps change.
    budget
        Bytes that copies of weights and state may take.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: set[Key],
        updated: Updated,
        budget: int,
    ) -> None:
        self.optimizer = optimizer
        self._step = functools.partial(bare_step(optimizer), *args, **kwargs)
        self._known = known
        self._updated = updated.look(optimizer)
        self._size, self._budget = updated.nbytes, budget
        affordable = self._size <= budget
        self._capsule = UpdateCapsule(optimizer, updated) if affordable else None

    @property
    def capsule(self) -> UpdateCapsule | None:
        """The copies; ``None`` when they would take too much memory."""
        return self._capsule

    def broken(self) -> list[Written]:
        """Return what the step has made non-finite out of finite gradients."""
        if not self._known and self._is_finite():
            return []
        looked_at = written(self.optimizer, self._known)
        if self._capsule is None:  # reading the moments too would cost twice as much
            looked_at = [each for each in looked_at if not each.key[1]]
        if all_finite(each.tensor for each in looked_at):
            return []
        bad = [each for each in looked_at if non_finite(each.tensor) is not None]
        self._known |= {each.key for each in bad}
        gradients = [p.grad for p in held(self.optimizer) if p.grad is not None]
        return bad if all_finite(gradients) else []

    def _is_finite(self) -> bool:
        """Look at what the step has written, without a name for each."""
        if self._capsule is None:
            return all_finite(held(self.optimizer))
        floats = self._updated.look(self.optimizer).floats
        return floats is not None and surely_finite(floats)

    def obstacle(self) -> str | None:
        """Say why the step cannot run again, if so."""
        if self._capsule is None:
            return (
                f"copies of the weights and the optimizer's state take {self._size:,} "
                f"bytes and memory_budget is {self._budget:,}; pass "
                f"debug(..., memory_budget={self._size})"
            )
        return self._capsule.obstacle()

    def undo(self, bad: Sequence[Written]) -> None:
        """Put weights and state back; what was ``bad`` is looked at again."""
        if self._capsule is not None:
            self._capsule.restore_values()
            self._known -= {each.key for each in bad}

    def explore(
        self,
        bad: Sequence[Written],
        model: torch.nn.Module,
        blank: PauseReport,
        pause: Callable[[Stop], Command],
    ) -> None:
        """Stop where the step went wrong; what runs last is the real step."""
        names = dict.fromkeys((each.key[0] for each in bad), "(unnamed)")
        names |= {id(p): clean_name(name) for name, p in model.named_parameters()}
        obstacle = self.obstacle()
        if self._capsule is None or obstacle is not None:
            pause(Stop(not_located(blank, bad, names, obstacle or ""), None))
            return
        keys = {each.key for each in bad}
        before = self._known - keys
        replay = UpdateReplay(self._capsule, self._step, model, names, before)
        replay.run(bad, blank, pause)
        # What was mended is looked at again after the next step.
        after = written(self.optimizer, without=before)
        broken = {each.key for each in after if non_finite(each.tensor) is not None}
        self._known -= keys - broken
