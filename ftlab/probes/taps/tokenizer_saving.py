"""Sees tokenizers and processors being saved, by ``save_pretrained``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import Handle, HandleStack

_OWNERS = (
    ("transformers.tokenization_utils_base", "PreTrainedTokenizerBase"),
    ("transformers.tokenization_mistral_common", "MistralCommonBackend"),
    ("transformers.processing_utils", "ProcessorMixin"),
)


def tap_tokenizer_saving(listener: Listener) -> Handle:
    """Tell after each tokenizer that was saved, and where.

    A processor saves its tokenizer within: that is told once, of the processor.
    """
    around = _around(listener, Nesting())
    handles = HandleStack()
    for module, name in _OWNERS:
        owner = getattr(sys.modules.get(module), name, None)
        if isinstance(owner, type):
            handles.add(rebind_method(owner, "save_pretrained", around))
    return handles


def _around(listener: Listener, nesting: Nesting) -> Callable[..., Any]:
    def around(
        original: Callable[..., Any], owner: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if nesting.inside:
            return original(owner, *args, **kwargs)
        with nesting:
            result = original(owner, *args, **kwargs)
        folder = args[0] if args else kwargs.get("save_directory")
        if folder is not None:
            listener.after_tokenizer_save(owner, Path(folder))
        return result

    return around
