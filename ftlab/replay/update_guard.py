"""Hears every optimizer step of a run, and looks at what it has written."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from ftlab.records.by_id import ById
from ftlab.records.handle import CallbackHandle, Handle, HandleStack
from ftlab.replay.capsules.update_capsule import UpdateCapsule, Updated
from ftlab.replay.optimizers import drop_leftovers, has_closure
from ftlab.replay.torch_private import call_first, graph_task
from ftlab.replay.tracing.finite import non_finite
from ftlab.replay.update import UpdateCall
from ftlab.replay.update_replay import Key, Written, written


class UpdateGuard:
    """The optimizer steps of the training thread.

    Parameters
    ----------
    here
        Whether the calling thread is the one that trains.
    announce
        Called before a step with the optimizer and whether a closure computes its
        gradients; returns whether the step is for nothing.
    explore
        Called where a step has made something non-finite, with what that is.
    done
        Called after a step, with the copies from before it.
    optimizers
        Those that are known; others are found when they first step.
    budget
        Bytes that copies of weights and state may take.

    Attributes
    ----------
    optimizers
        All that are known.
    seen
        Whether one has stepped in this run.
    update
        The step that is under way.
    """

    def __init__(
        self,
        here: Callable[[], bool],
        announce: Callable[[torch.optim.Optimizer, bool], bool],
        explore: Callable[[UpdateCall, list[Written]], None],
        done: Callable[[UpdateCapsule | None], None],
        *,
        optimizers: Iterable[torch.optim.Optimizer],
        budget: int,
    ) -> None:
        self.optimizers = ById((each, None) for each in optimizers)
        self.seen = False
        self.update: UpdateCall | None = None
        self._here = here
        self._announce = announce
        self._explore = explore
        self._done = done
        self._budget = budget
        self._broken_before: set[Key] | None = None
        self._updated: ById[torch.optim.Optimizer, Updated] = ById()

    def attach(self) -> Handle:
        """Hear of steps until the handle is removed; a new run begins."""
        self.seen, self.update, self._broken_before = False, None, None
        handles = HandleStack()
        handles.add(CallbackHandle(self._updated.clear))
        # A watch must hear only of the steps that come through, and as they are then.
        for handle in (
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        ):
            call_first(handle)
            handles.add(handle)
        return handles

    def _before(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        # Backward runs on threads of its own on an accelerator: a task tells it too.
        if not (self._here() or graph_task() != -1):
            return
        self.seen = True
        self.optimizers[optimizer] = None
        closure = has_closure(args, kwargs)
        for_nothing = self._announce(optimizer, closure)
        if self.update is None and not closure and not for_nothing:
            known = self._known(optimizer)
            if optimizer not in self._updated:
                self._updated[optimizer] = Updated(optimizer)
            updated = self._updated[optimizer]
            self.update = UpdateCall(
                optimizer, args, kwargs, known, updated, self._budget
            )

    def _known(self, optimizer: torch.optim.Optimizer) -> set[Key]:
        """Return what was non-finite before the first step of the run."""
        if self._broken_before is None:
            every = written(optimizer, without=set())
            bad = [each.key for each in every if non_finite(each.tensor) is not None]
            self._broken_before = set(bad)
        return self._broken_before

    def _after(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        update = self.update
        if update is None or update.optimizer is not optimizer:
            return
        try:
            bad = update.broken()
            if bad:
                self._explore(update, bad)
            self._done(update.capsule)
        except BaseException:
            drop_leftovers(optimizer)
            raise
        finally:
            self.update = None
