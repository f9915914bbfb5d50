"""With what a step calls its model, seen while the step is executed again."""

import contextlib
from types import TracebackType
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from ftlab.replay.capsules.context import active_autocast


class ModelCalls:
    """Notes the first call of a model within a ``with`` block, and counts them.

    What it notes is live: no operation runs here, where the tracer would see it.

    Parameters
    ----------
    model
        The model.

    Attributes
    ----------
    count
        How often it was called.
    args, kwargs
        Of the first call.
    autocast
        Device type and dtype of each autocast that was on then.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.capsules.model_calls import ModelCalls
    >>> model = torch.nn.Linear(1, 1)
    >>> with ModelCalls(model) as calls:
    ...     _ = model(torch.ones(1))
    >>> calls.count, calls.args
    (1, (tensor([1.]),))
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.count = 0
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.autocast: tuple[tuple[str, torch.dtype], ...] = ()
        self._model = model
        self._inside = False
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "ModelCalls":
        self.count = 0
        handle = self._model.register_forward_pre_hook(self._note, with_kwargs=True)
        self._stack.callback(handle.remove)
        # accelerate turns autocast on within the model's forward, behind its hooks.
        self._inside = False
        handle = register_module_forward_pre_hook(self._look_inside)
        self._stack.callback(handle.remove)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _note(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        self.count += 1
        if self.count == 1:
            self.args, self.kwargs = tuple(args), dict(kwargs)
            self.autocast = active_autocast()

    def _look_inside(self, module: torch.nn.Module, args: Any) -> None:
        if self.count == 1 and module is not self._model and not self._inside:
            self._inside, self.autocast = True, active_autocast()
