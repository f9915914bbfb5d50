"""Two tasks in turn, each with a head of its own.

A head has gradients only while its task is trained; the other one stays as it is.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, loss_step
from ftlab.faults.builders.tiny import VOCABULARY, adamw, batches, own

TURN = 40


class Tasks(nn.Module):
    """One trunk; one head for the next token, one for the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = own()
        self.trunk.verdict = nn.Identity()
        width = current().width
        self.heads = nn.ModuleDict(
            {task: nn.Linear(width, VOCABULARY) for task in ("next", "same")}
        )

    def forward(self, input_ids: torch.Tensor, task: str) -> torch.Tensor:
        """Return the loss of one task."""
        hidden = self.trunk(input_ids).logits
        shift = 1 if task == "next" else 0
        logits = self.heads[task](hidden)[:, : hidden.size(1) - shift]
        wanted = input_ids[:, shift:]
        return nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())


def build() -> Case:
    """Build a model of two tasks that change over every 40 steps."""
    torch.manual_seed(current().seed)
    model = Tasks()
    optimizer = adamw(model)

    def loss_of(batch: Any) -> torch.Tensor:
        turn = len(case.losses) // TURN
        return model(batch["input_ids"], ("next", "same")[turn % 2])

    case = Case(model, optimizer, batches(), loss_step(loss_of, optimizer))
    return case


HEALTHY = Healthy(
    "a head has no gradient for 40 steps, then it has",
    looks_like=("GRD003", "GRD009", "GRD002", "OPT002"),
)
