"""A padded position attends to nothing.

Hand-written attention masks with -inf. A row of a padded position has no allowed key:
its softmax is 0/0 = NaN. Its loss is left out, so the loss is finite; backward carries
the NaN into the projections that all positions share.

Fix: mask with ``torch.finfo(dtype).min``, or use ``F.scaled_dot_product_attention``.
Source: pytorch/pytorch#41508 (attention with all keys masked).
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Fault, current, plain_case
from ftlab.faults.builders.tiny import VOCABULARY, Batch, batches, set_seed, token_loss

PADDED = 5


class Reader(nn.Module):
    """One layer of attention with its own mask."""

    def __init__(self, width: int, masked: float) -> None:
        super().__init__()
        self.masked = masked
        self.words = nn.Embedding(VOCABULARY, width)
        self.look, self.hold, self.tell, self.mix = (
            nn.Linear(width, width) for _ in range(4)
        )
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, input_ids: torch.Tensor, mask: torch.Tensor) -> Any:
        """Predict the next token."""
        hidden = self.words(input_ids)
        scores = self.look(hidden) @ self.hold(hidden).transpose(1, 2)
        seen = torch.ones_like(scores, dtype=torch.bool).tril() & mask[:, None].bool()
        scores = (scores / hidden.shape[-1] ** 0.5).masked_fill(~seen, self.masked)
        return self.head(hidden + self.mix(scores.softmax(-1) @ self.tell(hidden)))


def build(fixed: bool) -> Case:
    """Pad the first sample of each batch on the left."""
    set_seed(0)
    lowest = torch.finfo(torch.float32).min
    model = Reader(current().width, lowest if fixed else -torch.inf)
    padded = batches()
    for batch in padded:
        batch["attention_mask"][0, :PADDED] = 0
        batch["labels"][0, : PADDED + 1] = -100

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(batch["input_ids"], batch["attention_mask"])
        return token_loss(logits, batch)

    return plain_case(model, rows=padded, loss_of=loss_of)


FAULT = Fault(
    "the first loss is finite, and all that follow are NaN",
    code="NUM001",
    places=("op softmax",),
    steps=4,
    evident=1,
)
