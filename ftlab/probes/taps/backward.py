"""Sees every backward: ``Tensor.backward`` and ``torch.autograd.backward``."""

from collections.abc import Callable
from typing import Any

import torch

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_everywhere, rebind_method
from ftlab.probes.torch_private import is_within_backward
from ftlab.records.handle import Handle, HandleStack


def tap_backward(listener: Listener) -> Handle:
    """Tell when a backward begins and ends; backwards within it are not told.

    A reentrant checkpoint calls backward again within backward, on a CUDA device from a
    thread of autograd's own.
    """
    nesting = Nesting()

    def around(
        original: Callable[..., Any], tensors: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if nesting.inside or is_within_backward():
            return original(tensors, *args, **kwargs)
        with nesting:
            weights = args[0] if args else _keyword(kwargs)
            listener.before_backward(_listed(tensors), _listed(weights))
            try:
                return original(tensors, *args, **kwargs)
            finally:
                listener.after_backward()

    handles = HandleStack()
    handles.add(rebind_method(torch.Tensor, "backward", around))
    handles.add(rebind_everywhere(torch.autograd.backward, around))
    return handles


def _keyword(kwargs: dict[str, Any]) -> Any:
    return kwargs.get("gradient", kwargs.get("grad_tensors"))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
