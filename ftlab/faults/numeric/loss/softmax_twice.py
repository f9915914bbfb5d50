"""Probabilities are given to a cross entropy, which takes the softmax itself.

The softmax of numbers between 0 and 1 is nearly flat: the loss begins at ln(classes),
falls a little and cannot fall below ln(e + classes - 1) - 1.

Fix: give ``cross_entropy`` the logits.
Source: ariecattan/SciCo#2 (validation loss stuck, bounded from below).
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case, token_loss


def build(fixed: bool) -> Case:
    """Take the softmax once or twice."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits
        return token_loss(logits if fixed else logits.softmax(-1), batch)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss falls a little and then stays near ln(vocabulary)",
    code="NUM015",
    places=("op softmax",),
    steps=4,
    families=("llama", "gpt2", "neox", "own"),
)
