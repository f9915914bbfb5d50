"""Which wrappers stand where in a model, and what they do."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ftlab.records.attributes import LIBRARIES

AROUND = {
    "DistributedDataParallel": "one copy for each process, gradients averaged",
    "DataParallel": "copies all weights to each GPU, in each forward",
    "FullyShardedDataParallel": "parameters in shards, gathered to compute",
    "DeepSpeedEngine": "trained by DeepSpeed",
    "OptimizedModule": "compiled by torch.compile",
}
"""Wrappers of libraries, by class."""


def own(module: Any) -> bool:
    """Tell whether a module's class is from none of the libraries."""
    package = type(module).__module__.partition(".")[0]
    return package not in LIBRARIES | {"deepspeed", "fairscale", "torchao"}


def is_wrapper(module: Any) -> bool:
    """Tell whether a library has put it around another."""
    return type(module).__name__ in AROUND and not own(module)


def pretrained(module: Any) -> bool:
    """Tell whether a module is a model of transformers, or derived from one."""
    return _is_a(module, "transformers.modeling_utils", "PreTrainedModel")


def is_peft(module: Any) -> bool:
    """Tell what the Trainer asks: whether a module is PEFT's wrapper around a model."""
    return _is_a(module, "peft", "PeftModel") or _is_a(module, "peft", "PeftMixedModel")


def _is_a(module: Any, package: str, name: str) -> bool:
    kind = getattr(sys.modules.get(package), name, None)
    return isinstance(kind, type) and isinstance(module, kind)


def first_pretrained(model: torch.nn.Module) -> str:
    """Return the path of the outermost model of transformers; empty without one."""
    found = (path for path, module in model.named_modules() if pretrained(module))
    return min(found, key=lambda path: path.count("."), default="")


def wraps(module: Any, *, holds: str = "") -> str:
    """Say what a module is as a wrapper; ``holds`` is the path of a model within it."""
    kind = type(module)
    words = []
    if is_wrapper(module):
        words.append(AROUND[kind.__name__])
    elif any(each.__name__ == "FSDPModule" for each in kind.__mro__):
        words.append("sharded by fully_shard")
    elif is_peft(module):
        words.append("PEFT's, around the model")
    elif pretrained(module) and own(module):
        base = next(e for e in kind.__mro__ if e.__module__.startswith("transformers."))
        words.append(f"a class derived from {base.__name__}")
    elif holds and own(module):
        whose = kind.__module__.replace("__main__", "your own")
        words.append(f"a module of {whose}, holds the model as .{holds}")
    return "; ".join([*words, *_done_to(vars(module))])


def _done_to(held: Mapping[str, Any]) -> Iterator[str]:
    """Yield what has been done to a module itself, without one around it."""
    if held.get("_compiled_call_impl") is not None:
        yield "compiled in place by torch.compile"
    if "_original_forward" in held:
        yield "prepared by accelerate: mixed precision, outputs in float32"
    if held.get("_hf_hook") is not None:
        yield "dispatched by accelerate: inputs follow the weights"
