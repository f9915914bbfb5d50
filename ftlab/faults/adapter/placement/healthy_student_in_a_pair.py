"""A Trainer distils: a student with an adapter, and its teacher, in one module.

No checkpoint is planned; the student's adapter is saved by hand when training is over.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, base, lora, trained


class Pair(nn.Module):
    """A student and its teacher."""

    def __init__(self) -> None:
        super().__init__()
        self.student = lora()
        self.teacher = base(seed=5).requires_grad_(False)

    def forward(
        self, input_ids: Any = None, attention_mask: Any = None, labels: Any = None
    ) -> Any:
        """Return how far the student is from the teacher."""
        del labels
        given = {"input_ids": input_ids, "attention_mask": attention_mask}
        self.teacher.eval()
        with torch.no_grad():
            wanted = self.teacher(**given).logits.softmax(-1)
        shares = self.student(**given).logits.log_softmax(-1)
        return {"loss": -(wanted * shares).sum(-1).mean()}


def build() -> Case:
    """Build a Trainer that saves nothing by itself."""
    return trained(Pair(), max_steps=8)


HEALTHY = Healthy(
    "the PeftModel stands inside another module",
    looks_like=("ADP021",),
    steps=8,
)
