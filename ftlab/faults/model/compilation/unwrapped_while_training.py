"""A save in the middle takes mixed precision off the model that is being trained.

accelerate puts autocast around the model's own ``forward``. What unwraps the model with
``keep_fp32_wrapper=False`` puts the old one back, on the very same object: from the
save on everything is computed in float32.

Fix: ``accelerator.unwrap_model(model)`` with its default, while training goes on.
Source: huggingface/accelerate#948, #1025, huggingface/diffusers#1855.
"""

from types import MethodType
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora
from ftlab.faults.builders.trainers import folder

SAVED = 1
"""The step after which there is a save."""


def prepared(model: Any) -> Any:
    """Wrap a forward as ``Accelerator.prepare`` does.

    The precision of an Accelerator is that of the whole process.
    """
    from accelerate.utils import convert_outputs_to_fp32

    model._original_forward = model.forward  # noqa: SLF001  accelerate's own name
    cast = torch.autocast("cpu", torch.bfloat16)
    forward = convert_outputs_to_fp32(cast(model.forward.__func__))
    model.forward = MethodType(forward, model)
    return model


def build(fixed: bool) -> Case:
    """Save once, and train on."""
    from accelerate.utils import extract_model_from_parallel

    model = prepared(lora())
    optimizer = adamw(model)

    def save() -> None:
        # What unwrap_model calls.
        saved = extract_model_from_parallel(model, keep_fp32_wrapper=fixed)
        saved.save_pretrained(folder(model))

    return loop_with(model, optimizer, batches(), after=at(SAVED, save))


FAULT = Fault(
    "after the first checkpoint steps take longer and more memory",
    code="MOD026",
    places=("call unwrap_model",),
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
    needs=("accelerate",),
)
