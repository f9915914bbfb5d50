"""A penalty on the logits is added to the loss as a number.

The z-loss is meant to keep the logits near 0. It was read with ``.item()`` for the log,
and what was read is added: the curve holds it, the gradient does not.

Fix: add the tensor, and log its value.
Source: torch, ``torch.Tensor.item`` ("not differentiable").
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case

WEIGHT = 1e-2


def build(fixed: bool) -> Case:
    """Add the mean square of the logits' log-sum to the model's own loss."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        output = model(**batch)
        penalty = output.logits.float().logsumexp(-1).square().mean()
        loss: torch.Tensor = output.loss
        return loss + WEIGHT * (penalty if fixed else penalty.item())

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the logits go on growing, although their penalty is in the loss",
    code="NUM012",
    places=("object loss",),
    steps=4,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
