"""Half of the adapter is frozen since the first evaluation.

A helper freezes everything for it, in evaluation mode, and thaws by name: what is in
its list of targets. The list is older than the adapter and lacks some. They stay as
they are, in the optimizer, and the loss falls by the others alone.

Fix: thaw what required a gradient before, or freeze nothing: ``no_grad`` is enough.
Source: seed; ``requires_grad_(False)`` on a model is not undone by ``train()``.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora

EVALUATED = 3
"""The step before which the model is evaluated."""


def build(fixed: bool) -> Case:
    """Build LoRA and a loop that evaluates once."""
    model = lora(target_modules="all-linear")
    optimizer = adamw(model)
    made = batches()
    learned = [name for name, p in model.named_parameters() if p.requires_grad]
    listed = learned if fixed else learned[::2]

    def evaluate() -> None:
        model.eval().requires_grad_(False)
        with torch.no_grad():
            model(**made[0])
        model.train()
        for name, parameter in model.named_parameters():
            if name in listed:
                parameter.requires_grad_(True)

    return loop_with(model, optimizer, made, before=at(EVALUATED, evaluate))


FAULT = Fault(
    "half of the adapter stands still after the first evaluation",
    code="ADP010",
    places=("param *.lora_?.*",),
    steps=8,
    evident=EVALUATED,
    also=("ADP007",),
    families=("llama", "gpt2", "neox", "own"),
)
