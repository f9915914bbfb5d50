"""The change that a step is executed with, if any, and what came of the last trial."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.scaler import set_scale
from ftlab.replay.tracing.compiled import run_eagerly
from ftlab.replay.trials.changes import Change
from ftlab.replay.trials.rates import changed_rates


class Variation:
    """How a step departs from what its author wrote.

    Attributes
    ----------
    outcome
        What came of the last trial, in words.
    """

    def __init__(self) -> None:
        self.outcome = ""
        self._change: Change | None = None
        self._tried: Change | None = None

    def call(
        self,
        function: Callable[..., Any],
        inputs: KeptInputs,
        silent: Callable[[], bool],
    ) -> Any:
        """Call the step, changed as it is to be now."""
        change = self._change
        if change is None:
            return function(*inputs.args, **inputs.kwargs)
        args, kwargs = change.inputs(inputs.args, inputs.kwargs)
        with run_eagerly(), change.active(silent):
            return function(*args, **kwargs)

    def update(self, optimizer: torch.optim.Optimizer, step: Callable[[], Any]) -> None:
        """Call an optimizer's ``step``, changed as it is to be now."""
        change = self._change
        with contextlib.ExitStack() as stack:
            if change is not None:
                stack.enter_context(change.active(lambda: False))
            if change is not None and change.rate is not None:
                stack.enter_context(changed_rates(optimizer, change.rate))
            step()

    def before_scaling(self, scaler: Any) -> None:
        """Change the loss scale, if that is the change."""
        if self._change is not None and self._change.scale is not None:
            set_scale(scaler, self._change.scale)

    @contextlib.contextmanager
    def trying(self, change: Change) -> Iterator[None]:
        """Change the step within a ``with`` block only."""
        taken, self._change, self._tried = self._change, change, change
        try:
            yield
        finally:
            self._change = taken

    def take(self) -> None:
        """Execute the step from now on as it was tried last."""
        self._change, self.outcome = self._tried, ""
