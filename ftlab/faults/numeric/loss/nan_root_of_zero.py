"""The norm of B is held small by a root, and B begins at 0.

``sqrt((B ** 2).sum())`` is 0 at the start, and the derivative of the root is infinite
there; times the derivative of the square, which is 0, it is NaN. The loss of the first
step is finite.

Fix: a small number under the root, or ``torch.linalg.vector_norm``.
Source: pytorch/pytorch#2421 (the gradient of a norm of 0).
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Take the root of 0, or of a little more."""
    model = lora()
    little = 1e-12 if fixed else 0.0

    def loss_of(batch: Batch) -> torch.Tensor:
        named = model.named_parameters()
        norms = [((p**2).sum() + little).sqrt() for n, p in named if "lora_B" in n]
        return model(**batch).loss + 1e-3 * torch.stack(norms).sum()

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the first loss is finite, and all that follow are NaN",
    code="NUM001",
    places=("op sqrt",),
    steps=4,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
