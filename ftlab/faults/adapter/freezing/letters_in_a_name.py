"""A part called "floral" is trained with the adapter, for it has "lora" in its name.

The loop that freezes the rest keeps every name with these letters. What the part learns
is in no adapter's file.

Fix: compare with ``"lora_"``, or leave out the loop.
Source: class of huggingface/peft#3490; seed.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, current, lora, plain_case
from ftlab.faults.builders.blocks import blocks


def build(fixed: bool) -> Case:
    """Freeze all but the adapter by name."""
    model = base()
    width = current().width
    part = torch.nn.Linear(width, width)
    blocks(model)[0].floral = part

    def add(_: Any, inputs: tuple[Any, ...]) -> Any:
        return (inputs[0] + 0.1 * part(inputs[0]), *inputs[1:])

    blocks(model)[0].register_forward_pre_hook(add)
    model = lora(model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(("lora_" if fixed else "lora") in name)
    return plain_case(model)


FAULT = Fault(
    "a part of the base is trained although only the adapter should be",
    code="ADP016",
    places=("param *.floral.*",),
    steps=4,
    evident=-1,
    also=("ADP020",),
    families=("llama", "gpt2", "neox", "own"),
)
