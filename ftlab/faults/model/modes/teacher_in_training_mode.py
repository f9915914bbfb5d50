"""The teacher is a part of the model, and ``model.train()`` switches its dropout on.

It is frozen and asked within ``no_grad``. Its answers to one batch differ all the same,
and the student learns the noise.

Fix: ``self.teacher.eval()`` before its pass, or in a ``train()`` of the model's own.
Source: seed; PyTorch's notes on autograd: evaluation mode is not ``no_grad``.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Fault, gpt2, lora, plain_case


class Pair(nn.Module):
    """A student and the teacher that it learns from."""

    def __init__(self, fixed: bool) -> None:
        super().__init__()
        self.guide = gpt2(resid_pdrop=0.1, embd_pdrop=0.1).requires_grad_(False)
        self.pupil = lora(gpt2(seed=5))
        self.fixed = fixed

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return how far the student is from the teacher."""
        if self.fixed:
            self.guide.eval()
        with torch.no_grad():
            wanted = self.guide(input_ids=ids).logits.softmax(-1)
        logits = self.pupil(input_ids=ids).logits
        return nn.functional.cross_entropy(logits.mT, wanted.mT)


def build(fixed: bool) -> Case:
    """Build a distillation whose loop calls train() on the whole."""
    model = Pair(fixed)

    def loss_of(batch: Any) -> torch.Tensor:
        return model.train()(batch["input_ids"])

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the teacher gives another answer to the same batch each time",
    code="MOD016",
    places=("module guide",),
    steps=8,
    evident=1,
)
