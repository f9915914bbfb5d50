"""The optimizer holds the new head, and a loop freezes the head afterwards.

The freezing loop was written to keep the norms trainable. What the optimizer holds is
frozen now, and what is trainable no optimizer holds: step() changes no parameter.

Fix: freeze first, with the head left out, and build the optimizer last.
Source: discuss.pytorch.org/t/84911, TrainCheck PT-FORUM-84911.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case


def build(fixed: bool) -> Case:
    """Build a model of which the head shall be trained, and freeze."""
    model = base()
    head = model.get_output_embeddings().weight
    norms = {
        id(parameter)
        for module in model.modules()
        if "norm" in type(module).__name__.lower()
        for parameter in module.parameters(recurse=False)
    }
    if fixed:
        for parameter in model.parameters():
            parameter.requires_grad_(parameter is head)
    optimizer = torch.optim.Adam([head], lr=1e-3)
    if not fixed:
        for parameter in model.parameters():
            parameter.requires_grad_(id(parameter) in norms)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the new head learns nothing; loss and accuracy stay where they were",
    code="OPT002",
    places=("param *norm*", "param *.ln_*"),
    steps=10,
    evident=0,
    families=("llama", "gpt2", "neox"),
    traincheck="PT-FORUM-84911",
)
