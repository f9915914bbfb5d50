"""Sees what takes time between two updates: loaders, logs, evaluations, saving."""

import sys
from collections.abc import Callable
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import Handle, HandleStack

_METHODS = (
    ("transformers.trainer", "Trainer", "log", "logging"),
    ("transformers.trainer", "Trainer", "evaluate", "evaluation"),
    ("transformers.trainer", "Trainer", "_save_checkpoint", "saving"),
    ("transformers.trainer", "Trainer", "save_model", "saving"),
    ("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalar", "logging"),
)
"""Module, class, method and phase; what is not imported is not tapped."""

Span = Callable[[str], Any]


def tap_spans(span: Span, see_loader: Callable[[int], None]) -> Handle:
    """Enter ``span(phase)`` around what is known to take time.

    Parameters
    ----------
    span
        Returns a context manager for a phase.
    see_loader
        Gets the number of workers of each loader that is read.
    """
    handles = HandleStack()

    def following(original: Any, iterator: Any) -> Any:
        see_loader(int(iterator._num_workers))  # noqa: SLF001  torch has no other
        with span("data"):
            return original(iterator)

    handles.add(rebind_method(_BaseDataLoaderIter, "__next__", following))
    for module, owner, method, phase in _METHODS:
        kind = getattr(sys.modules.get(module), owner, None)
        if isinstance(kind, type):
            handles.add(rebind_method(kind, method, _within(span, phase)))
    return handles


def _within(span: Span, phase: str) -> Callable[..., Any]:
    def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with span(phase):
            return original(*args, **kwargs)

    return around
