"""Sees transformers' ``generate``, through whatever model or trainer it is called."""

import sys
from collections.abc import Callable
from typing import Any

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import Handle, HandleStack


def tap_generation(listener: Listener) -> Handle:
    """Tell before each generation, and what it begins with.

    Only what has been imported is tapped: a model that generates has imported it.
    """
    handles = HandleStack()
    module = sys.modules.get("transformers.generation.utils")
    owner = getattr(module, "GenerationMixin", None)
    if isinstance(owner, type):
        handles.add(rebind_method(owner, "generate", _around(listener)))
    return handles


def _around(listener: Listener) -> Callable[..., Any]:
    def around(
        original: Callable[..., Any], model: Any, *args: Any, **kwargs: Any
    ) -> Any:
        given = dict(zip(("inputs", "generation_config"), args, strict=False)) | kwargs
        listener.before_generation(model, given)
        return original(model, *args, **kwargs)

    return around
