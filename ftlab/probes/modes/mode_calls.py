"""Hears that a model, or the PeftModel in it, is asked to be in training mode.

What the mode is at a forward does not tell what was asked for just before it: a call of
``train()`` and one of ``eval()`` after it leave no trace. Only the classes of these few
modules get a stand-in, so that their hundreds of children cost nothing.
"""

import weakref
from collections.abc import Callable
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.rebinding import stand_in
from ftlab.records.handle import HandleStack, rebind


class ModeCalls:
    """Whether ``train()`` was called since it was last asked.

    Parameters
    ----------
    model
        The watched model. It is not kept alive.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        carriers = [holder.module for holder in holders(model)]
        heard = {id(each): each for each in (innermost(model), *carriers)}
        self._modules = tuple(weakref.ref(each) for each in heard.values())
        self._handles = HandleStack()
        self._asked = False
        for kind in dict.fromkeys(type(each) for each in heard.values()):
            hearing = stand_in(kind.train, self._hearing())
            self._handles.add(rebind(kind, "train", hearing))

    def remove(self) -> None:
        """Hear no more."""
        self._handles.remove()

    def take(self) -> bool:
        """Tell whether training mode was asked for, and forget it."""
        asked, self._asked = self._asked, False
        return asked

    def _hearing(self) -> Callable[..., Any]:
        def around(original: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
            mode = args[0] if args else kwargs.get("mode", True)
            if mode is True and any(each() is owner for each in self._modules):
                self._asked = True
            return original(owner, *args, **kwargs)

        return around
