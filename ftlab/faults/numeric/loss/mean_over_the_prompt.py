"""``(token_loss * mask).mean()`` divides by the tokens of the prompts as well.

Three of fifteen tokens are answers: the loss is a fifth of theirs. Under SGD the run
learns five times more slowly than with the rate it was given for.

Fix: ``(token_loss * mask).sum() / mask.sum()``.
Source: d2l-ai/d2l-en#2076, uncbiag/ICON#83.
"""

import torch
from torch.nn.functional import cross_entropy

from ftlab.faults.builders import Batch, Case, Fault, loop_case, lora, trainable

ANSWER = 3


def build(fixed: bool) -> Case:
    """Train LoRA under SGD on the last tokens of each row."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(batch["input_ids"]).logits[:, :-1].transpose(1, 2)
        each = cross_entropy(logits, batch["labels"][:, 1:], reduction="none")
        mask = torch.zeros_like(each)
        mask[:, -ANSWER:] = 1.0
        masked = each * mask
        return masked.sum() / mask.sum() if fixed else masked.mean()

    return loop_case(model, optimizer, loss_of=loss_of)


FAULT = Fault(
    "a loss that is low from the beginning, and falls slowly",
    code="NUM027",
    places=("op mean",),
    steps=8,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
