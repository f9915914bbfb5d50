"""A second adapter is added and given to the optimizer, but never made the active one.

``add_adapter`` and ``load_adapter`` leave the active adapter as it was. The first one
runs and is trainable; the optimizer holds the second one, which takes no part.

Fix: ``model.set_adapter("second")`` before the optimizer is built.
Source: huggingface/peft#1303, #3580.
"""

import torch

from ftlab.faults.builders import Case, Fault, current, loop_case, lora


def build(fixed: bool) -> Case:
    """Build two adapters and an optimizer for the newer one."""
    model = lora()
    model.add_adapter("newer", model.peft_config[current().adapter])
    if fixed:
        model.set_adapter("newer")
    held = [each for name, each in model.named_parameters() if ".newer." in name]
    optimizer = torch.optim.AdamW(held, lr=1e-3, weight_decay=0.0)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the second adapter learns nothing",
    code="OPT002",
    places=("call set_adapter",),
    steps=12,
    evident=1,
    also=("NUM003",),
    families=("llama", "gpt2", "neox", "own"),
)
