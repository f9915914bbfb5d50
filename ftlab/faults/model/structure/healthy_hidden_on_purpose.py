"""A model that hides from torch what shall not be its own.

A teacher in a list, frozen; a critic in a list, with an optimizer of its own, through
which the model's loss goes; a scale in a dict that the model's optimizer holds.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, batches, llama, trainable


class Hiding(nn.Module):
    """A student that keeps others beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.student = llama(num_hidden_layers=1)
        self.teachers = [llama(seed=5).requires_grad_(False).eval()]
        self.critics = [nn.Linear(128, 1)]
        self.extra = {"scale": nn.Parameter(torch.ones(()))}

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return how far the student is from the teacher, less the critic's praise."""
        with torch.no_grad():
            wanted = self.teachers[0](input_ids=input_ids).logits.log_softmax(-1)
        shares = self.student(input_ids=input_ids).logits * self.extra["scale"]
        shares = shares.log_softmax(-1)
        apart = nn.functional.kl_div(shares, wanted, log_target=True, reduction="mean")
        return apart - 1e-3 * self.critics[0](shares).mean()


def build() -> Case:
    """Build a student, and train its critic in turn."""
    model = Hiding()
    own = [*trainable(model), model.extra["scale"]]
    optimizer = torch.optim.AdamW(own, lr=1e-3, weight_decay=0.0)
    critic = model.critics[0]
    other = torch.optim.SGD(critic.parameters(), lr=1e-3)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(batch["input_ids"])
        loss.backward()
        optimizer.step()
        other.zero_grad()
        critic(torch.zeros(1, 128)).sum().square().backward()
        other.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "parameters with gradients stand in lists and dicts",
    looks_like=("MOD008", "OPT001"),
    steps=40,
)
