"""The loss is computed from a detached copy of the logits.

A value that was taken for the log goes into the loss as well. Backward complains that
nothing requires a gradient; ``requires_grad_()`` on the copy makes the message go away.

Fix: compute the loss from ``output.logits`` itself and detach only what is logged.
Source: seed; documentation of ``torch.Tensor.detach``: its result needs no gradient.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case, token_loss


def build(fixed: bool) -> Case:
    """Build LoRA with a loss of one's own."""
    model = lora()

    def loss_of(batch: Any) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits
        if not fixed:
            logits = logits.detach().requires_grad_()
        return token_loss(logits, batch)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss stays flat; backward runs without a word",
    code="GRD003",
    places=("object loss",),
    steps=10,
    evident=1,
    also=("ADP001", "NUM003"),
    families=("llama", "gpt2", "neox", "own"),
)
