"""The loss turns NaN at the first batch that has padding.

Embeddings are scaled to length 1 without an epsilon. The padding token's embedding is
zero, and zero divided by its norm is NaN. Attention carries it to every token behind.

Fix: ``torch.nn.functional.normalize``, which has an epsilon, or add one.
Source: the class of pytorch/pytorch#68425 (0 / 0 at masked positions).
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, batches, llama, lora, plain_case

PADDING = 0
FIRST = 3
"""Number of the first batch with padding."""


class UnitNorm(torch.nn.Module):
    """Scales vectors to length 1; safe only with an ``epsilon`` above 0."""

    def __init__(self, epsilon: float = 0.0) -> None:
        super().__init__()
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Divide each vector by its length."""
        return x / (x.norm(dim=-1, keepdim=True) + self.epsilon)


def normalised_llama(epsilon: float) -> torch.nn.Module:
    """Build a small Llama with LoRA whose embeddings have length 1."""
    base = llama()
    with torch.no_grad():
        base.model.embed_tokens.weight[PADDING] = 0
    unit = UnitNorm(epsilon)
    base.model.embed_tokens = torch.nn.Sequential(base.model.embed_tokens, unit)
    model: torch.nn.Module = lora(base)
    return model


def padded_batches() -> list[Batch]:
    """Return batches of which one has a shorter, left-padded row."""
    made = batches()
    row = {name: values[1] for name, values in made[FIRST].items()}
    row["input_ids"][:4] = PADDING
    row["attention_mask"][:4] = 0
    row["labels"][:4] = -100
    return made


def build(fixed: bool) -> Case:
    """Build it with an epsilon or without."""
    model = normalised_llama(1e-6 if fixed else 0.0)
    return plain_case(model, rows=padded_batches())


FAULT = Fault(
    "the loss is NaN from some step on; it depends on the order of the data",
    code="NUM001",
    places=("object loss",),
)
