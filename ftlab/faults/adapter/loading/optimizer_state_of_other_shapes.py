"""An optimizer's state is loaded although its parameters come in another order.

``load_state_dict`` compares no shapes. The first step raises an error about the sizes
of two tensors, which says nothing of where they are from.

Fix: the same parameters, in the same order, as where the state was saved.
Source: X-LANCE/text2sql-lgesql#18, roytseng-tw/Detectron.pytorch#37.
"""

import copy

import torch

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora, trainable


def build(fixed: bool) -> Case:
    """Build a run that is resumed over the trainable parameters."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    loop_case(model, optimizer).run(12)
    order = trainable(model) if fixed else trainable(model)[::-1]
    second = torch.optim.AdamW(order, lr=5e-3)
    second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return loop_case(model, second)


FAULT = Fault(
    "the first step after a resume raises: sizes of two tensors do not match",
    code="ADP034",
    places=("optimizer state", "param *lora_?*"),
    steps=4,
    evident=-1,
    silent=False,
    families=("llama", "gpt2", "neox", "own"),
)
