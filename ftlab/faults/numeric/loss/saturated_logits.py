"""A temperature of sampling is left in the loss.

``logits / 1e-3`` makes the softmax sure of one token everywhere: where it is right the
gradient is 0, where it is wrong it is as large as it can be. The loss is in the
hundreds and learning does not get anywhere.

Fix: temperature 1 in training.
Source: configurations of sampling that are read by the training loop as well.
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case, token_loss


def build(fixed: bool) -> Case:
    """Divide the logits by a temperature."""
    model = lora()
    temperature = 1.0 if fixed else 1e-3

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits
        return token_loss(logits / temperature, batch)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss is in the hundreds and does not fall",
    code="NUM013",
    places=("op div",),
    steps=8,
    families=("llama", "gpt2", "neox", "own"),
)
