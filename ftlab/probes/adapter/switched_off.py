"""A model without its adapters, for a while."""

import contextlib
from collections.abc import Iterator
from typing import Any

from ftlab.probes.adapter.adapter_tree import holders


@contextlib.contextmanager
def without_adapters(model: Any) -> Iterator[bool]:
    """Switch all adapters off; yields whether that can be done."""
    held = holders(model)
    with contextlib.ExitStack() as stack:
        for holder in held:
            module: Any = holder.module
            if hasattr(module, "disable_adapter"):
                if "forward" not in vars(module):  # PEFT leaves one there for prompts
                    stack.callback(vars(module).pop, "forward", None)
                stack.enter_context(module.disable_adapter())
            elif getattr(module, "_hf_peft_config_loaded", False):
                active = module.active_adapters()
                module.disable_adapters()
                stack.callback(module.set_adapter, active)
                stack.callback(module.enable_adapters)
            else:
                yield False
                return
        yield bool(held)
