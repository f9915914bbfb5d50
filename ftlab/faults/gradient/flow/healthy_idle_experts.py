"""A mixture of experts with one short sequence per step.

Most experts get no token in a given step. With LoRA per expert, the gradient of an idle
expert's adapter is 0 and its B stays 0 for a while.
"""

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, plain_case
from ftlab.faults.builders.tiny import VOCABULARY, batches, lora, token_loss

EXPERTS = 8


class Mixture(nn.Module):
    """Experts of which each token uses one."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gate = nn.Linear(size, EXPERTS)
        self.experts = nn.ModuleList(nn.Linear(size, size) for _ in range(EXPERTS))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Send each token to its expert."""
        weights, chosen = self.gate(hidden).softmax(-1).max(-1)
        out = torch.zeros_like(hidden)
        for index, expert in enumerate(self.experts):
            mine = chosen == index
            if mine.any():
                out[mine] = expert(hidden[mine]) * weights[mine, None]
        return hidden + out


class Net(nn.Module):
    """Two mixtures between an embedding and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.layers = nn.ModuleList(Mixture(32) for _ in range(2))
        self.head = nn.Linear(32, VOCABULARY)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        hidden = self.embedding(input_ids)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden)


def build() -> Case:
    """Build LoRA on every expert and one short sequence per step."""
    torch.manual_seed(0)
    names = [f"experts.{index}" for index in range(EXPERTS)]
    model = lora(Net(), target_modules=names, task_type=None)
    return plain_case(
        model,
        rows=batches(20, size=1, length=4),
        loss_of=lambda batch: token_loss(model(batch["input_ids"]), batch),
    )


HEALTHY = Healthy(
    "experts that got no token have no gradient",
    looks_like=("GRD003", "ADP001", "GRD001"),
)
