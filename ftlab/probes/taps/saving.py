"""Sees models being saved, by ``save_pretrained`` or by hand.

A Trainer's checkpoints go through PEFT's and transformers' ``save_pretrained``. What
somebody writes himself goes through ``torch.save`` or safetensors' ``save_file``;
other means are not seen.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_everywhere, rebind_method
from ftlab.records.handle import Handle, HandleStack

_OWNERS = (
    ("peft.peft_model", "PeftModel"),
    ("transformers.modeling_utils", "PreTrainedModel"),
)

_THIRD = 2
"""Position of ``selected_adapters`` in ``PeftModel.save_pretrained``."""


def tap_saving(listener: Listener) -> Handle:
    """Tell after each model that was saved, and where.

    Only what has been imported is tapped: a model that is watched has imported the
    class that saves it.
    """
    nesting = Nesting()
    handles = HandleStack()
    for module, name in _OWNERS:
        owner = getattr(sys.modules.get(module), name, None)
        if isinstance(owner, type):
            around = _around(listener, nesting)
            handles.add(rebind_method(owner, "save_pretrained", around))
    write = _write(listener, nesting)
    handles.add(rebind_everywhere(torch.save, write))
    safetensors = sys.modules.get("safetensors.torch")
    if safetensors is not None:
        handles.add(rebind_everywhere(safetensors.save_file, write))
    return handles


@contextmanager
def _told(listener: Listener) -> Iterator[None]:
    """Tell how long it takes."""
    listener.before_saving()
    try:
        yield
    finally:
        listener.after_saving()


def _around(listener: Listener, nesting: Nesting) -> Callable[..., Any]:
    def around(
        original: Callable[..., Any], model: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if nesting.inside:
            return original(model, *args, **kwargs)
        with nesting, _told(listener):
            result = original(model, *args, **kwargs)
        folder = args[0] if args else kwargs.get("save_directory")
        if folder is not None and kwargs.get("is_main_process", True):
            listener.after_save(model, Path(folder), _selected(model, args, kwargs))
        return result

    return around


def _write(listener: Listener, nesting: Nesting) -> Callable[..., Any]:
    """Tell of a file that is written outside of ``save_pretrained``."""

    def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with _told(listener):
            result = original(*args, **kwargs)
        if not nesting.inside:
            content = args[0] if args else kwargs.get("obj", kwargs.get("tensors"))
            file = args[1] if len(args) > 1 else kwargs.get("f", kwargs.get("filename"))
            listener.after_write(content, file)
        return result

    return around


def _selected(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the adapters that were asked for; PeftModel takes them third as well."""
    given = kwargs.get("selected_adapters")
    if given is None and len(args) > _THIRD and hasattr(model, "peft_config"):
        given = args[_THIRD] if isinstance(args[_THIRD], list) else None
    return given
