"""Sees gradients being clipped, under whatever name the function was imported."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_everywhere
from ftlab.records.handle import Handle, HandleStack


@dataclass(frozen=True, slots=True)
class Clipping:
    """How gradients are clipped.

    Attributes
    ----------
    kind
        ``"norm"`` or ``"value"``.
    limit
        ``max_norm`` or ``clip_value`` as it was passed.
    norm_type
        Order of the norm; 0 when values are clipped.
    """

    kind: str
    limit: float
    norm_type: float


def tap_clip(listener: Listener) -> Handle:
    """Tell before and after each clipping of the process."""
    nesting = Nesting()
    handles = HandleStack()
    for function, describe in (
        (clip_grad_norm_, _norm),
        (clip_grad_value_, _value),
        (clip_grads_with_norm_, _with_norm),
    ):
        handles.add(rebind_everywhere(function, _around(listener, describe, nesting)))
    return handles


def _around(
    listener: Listener,
    describe: Callable[..., tuple[Clipping, Any]],
    nesting: Nesting,
) -> Callable[..., Any]:
    def around(
        original: Callable[..., Any], parameters: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if nesting.inside:
            return original(parameters, *args, **kwargs)
        parameters, listed = _listed(parameters)
        how = norm = None
        with contextlib.suppress(TypeError, ValueError):
            how, norm = describe(*args, **kwargs)
        if how is None:  # let torch say what is wrong with the call
            return original(parameters, *args, **kwargs)
        listener.before_clip(listed, how)
        try:
            with nesting:
                result = original(parameters, *args, **kwargs)
        except BaseException:
            listener.after_clip(None)
            raise
        listener.after_clip(result if norm is None else norm)
        return result

    return around


def _listed(parameters: Any) -> tuple[Any, Sequence[torch.Tensor]]:
    """Read the parameters without using up what torch is going to read.

    Torch warns about an empty generator, and about nothing else that is empty.
    """
    if isinstance(parameters, torch.Tensor):
        return parameters, [parameters]
    if isinstance(parameters, list | tuple):
        return parameters, parameters
    listed = list(parameters)
    return listed or parameters, listed


def _norm(
    max_norm: float, norm_type: float = 2.0, *_: Any, **__: Any
) -> tuple[Clipping, Any]:
    return Clipping("norm", float(max_norm), float(norm_type)), None


def _value(clip_value: float, *_: Any, **__: Any) -> tuple[Clipping, Any]:
    return Clipping("value", float(clip_value), 0.0), None


def _with_norm(
    max_norm: float, total_norm: torch.Tensor, *_: Any, **__: Any
) -> tuple[Clipping, Any]:
    return Clipping("norm", float(max_norm), 2.0), total_norm
