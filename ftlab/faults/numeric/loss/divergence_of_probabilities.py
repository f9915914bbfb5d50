"""``kl_div`` is given the student's probabilities.

It takes the logarithm of its target, not of its input. What is left, a constant less
the product of two distributions, is below 0, and the student does not become its
teacher.

Fix: ``kl_div(log_softmax(student), softmax(teacher))``.
Source: microsoft/ProDA#20, microsoft/ProDA#43.
"""

import torch
from torch.nn import functional

from ftlab.faults.builders import VOCABULARY, Batch, Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Distill with a softmax in the place of a log-softmax."""
    model = lora()
    drawn = torch.randn(VOCABULARY, VOCABULARY, generator=torch.Generator())
    teacher = (2 * drawn).softmax(-1)

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits.flatten(0, 1)
        student = logits.log_softmax(-1) if fixed else logits.softmax(-1)
        wanted = teacher[batch["input_ids"].flatten()]
        return functional.kl_div(student, wanted, reduction="batchmean")

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss of the distillation is below 0 and hardly moves",
    code="NUM015",
    places=("op kl_div",),
    steps=4,
    families=("llama", "gpt2", "neox", "own"),
)
