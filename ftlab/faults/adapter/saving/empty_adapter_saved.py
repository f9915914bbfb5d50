"""A checkpoint of sharded training is written without gathering its parameters.

Every key is there and no tensor has an element. The folder looks complete.

Fix: gather the parameters before saving.
Source: huggingface/trl#4416, huggingface/peft#2892, huggingface/peft#2450,
huggingface/peft#939.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that saves what one process has of its parameters: nothing."""
    model = lora()
    path = folder(model)

    def save() -> None:
        state = {
            name: tensor.clone() if fixed else torch.empty(0)
            for name, tensor in model.state_dict().items()
        }
        with warnings.catch_warnings(action="ignore"):
            model.save_pretrained(path, state_dict=state)

    return plain_case(model, lr=1e-2, afterwards=save)


FAULT = Fault(
    "the adapter's file is a few bytes, or all of its tensors are empty",
    code="ADP028",
    places=("file adapter keys",),
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
