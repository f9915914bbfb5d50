"""A callback switches adapters off and on again, and the trained head stays off.

transformers' ``disable_adapters()`` switches off the modules in ``modules_to_save`` as
well, its ``enable_adapters()`` only the adapter layers on (5.23). The head that is
saved is the one from before the callback.

Fix: switch the modules on as well, or use PEFT's own ``disable_adapter()``.
Source: transformers 5.23, ``integrations/peft.py``; huggingface/peft#493, #912.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, batches, current, lora_config
from ftlab.faults.builders.heads import head
from ftlab.faults.builders.trainers import trained

STEPS = 8
LOOK = 3


def looking(fixed: bool) -> Any:
    """Make a callback that runs the base model after some steps."""
    from transformers import TrainerCallback

    (batch,) = batches(1)

    class Compare(TrainerCallback):
        """Compares with the base model once."""

        def on_step_end(
            self, args: Any, state: Any, control: Any, **kwargs: Any
        ) -> None:
            """Look, with the adapter off."""
            model = kwargs["model"]
            if state.global_step != LOOK:
                return
            model.disable_adapters()
            with torch.no_grad():
                model(**batch)
            model.enable_adapters()
            if fixed:
                head_of(model).enable_adapters(True)

    return Compare()


def head_of(model: Any) -> Any:
    """Return the wrapper of the trained head."""
    return model.get_submodule(head_name(model))


def head_name(model: Any) -> str:
    """Name the head, which PEFT has wrapped."""
    return next(n for n, m in model.named_modules() if hasattr(m, "modules_to_save"))


def build(fixed: bool) -> Case:
    """Build a Trainer with a callback that looks at the base model."""
    model = base()
    config = lora_config(model, modules_to_save=[head(model)])
    model.add_adapter(config, adapter_name=current().adapter)
    callbacks = {"callbacks": [looking(fixed)]}
    return trained(model, max_steps=STEPS, trainer=callbacks)


FAULT = Fault(
    "the head stops learning after a look at the base model",
    code="ADP003",
    places=("module *",),
    steps=STEPS,
    evident=3,
    families=("llama", "neox"),
)
