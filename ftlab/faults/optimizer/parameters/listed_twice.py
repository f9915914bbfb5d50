"""A parameter is listed twice in the optimizer's group, and moves twice per step.

"All that is trainable" holds the head already; the head is added once more. torch warns
once, in between a hundred other lines.

Fix: ``AdamW([p for p in model.parameters() if p.requires_grad])``, and nothing more.
Source: pytorch/pytorch#40967.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Fault, loop_case, lora, trainable


def build(fixed: bool) -> Case:
    """Build LoRA of which the last factors are listed once more."""
    model = lora()
    parameters = trainable(model)
    more = [] if fixed else parameters[-2:]
    with warnings.catch_warnings(action="ignore"):
        optimizer = torch.optim.AdamW([*parameters, *more], lr=1e-3, weight_decay=0.0)
    return loop_case(model, optimizer)


FAULT = Fault(
    "some of the weights learn twice as fast as the others",
    code="OPT007",
    places=("param *.lora_?.*",),
    steps=8,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
