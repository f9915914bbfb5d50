"""Two optimizers hold the same factors and both step after each backward.

One was made for one part of the model, the other from "all that is trainable".

Fix: leave out of the second optimizer what the first one holds.
Source: seen in hand-written loops with one optimizer per part.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, lora, trainable


def build(fixed: bool) -> Case:
    """Build LoRA with an optimizer for its first half and one for the rest, or all."""
    model = lora()
    parameters = trainable(model)
    half = len(parameters) // 2
    rest = parameters[half:] if fixed else parameters
    first = torch.optim.AdamW(parameters[:half], lr=1e-3, weight_decay=0.0)
    second = torch.optim.AdamW(rest, lr=1e-3, weight_decay=0.0)

    def step(batch: Any) -> float:
        first.zero_grad()
        second.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        first.step()
        second.step()
        return float(loss.detach())

    return Case(model, [first, second], batches(), step)


FAULT = Fault(
    "the adapter learns faster than its learning rate allows",
    code="OPT007",
    places=("param *.lora_?.*",),
    steps=8,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
