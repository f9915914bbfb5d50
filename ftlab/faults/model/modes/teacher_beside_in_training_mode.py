"""A teacher of its own is in training mode: somebody has called ``train()`` on it.

It was fine-tuned just before, in the same process, and nobody called ``eval()``.
``no_grad`` stands around its pass, and its dropout is on.

Fix: ``teacher.eval()`` before the first of its passes.
Source: seed; PyTorch's notes on autograd: evaluation mode is not ``no_grad``.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, gpt2, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a student, and a teacher that is not watched."""
    teacher = gpt2(seed=7, resid_pdrop=0.1, embd_pdrop=0.1).train(not fixed)
    model = lora(base())

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        with torch.no_grad():
            wanted = teacher(input_ids=ids).logits.softmax(-1)
        logits = model(input_ids=ids).logits
        return torch.nn.functional.cross_entropy(logits.mT, wanted.mT)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the student learns the noise of a teacher with dropout",
    code="MOD016",
    places=("object another GPT2LMHeadModel",),
    steps=8,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
