"""Distillation: a teacher answers without gradients, within the same module.

The teacher is a submodule, frozen and in eval mode; its parameters are four fifths of
all, and none of them is in the optimizer.
"""

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, llama, plain_case


class Pair(nn.Module):
    """A student and its teacher."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher = llama(num_hidden_layers=4).requires_grad_(False)
        self.student = llama(seed=5, num_hidden_layers=1)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return how far the student is from the teacher, times the temperature."""
        self.teacher.eval()
        with torch.no_grad():
            wanted = (8 * self.teacher(input_ids=input_ids).logits).log_softmax(-1)
        shares = (8 * self.student(input_ids=input_ids).logits).log_softmax(-1)
        return nn.functional.kl_div(shares, wanted, log_target=True, reduction="mean")


def build() -> Case:
    """Build a teacher of four layers and a student of one."""
    torch.manual_seed(current().seed)
    model = Pair()
    return plain_case(model, loss_of=lambda batch: model(batch["input_ids"]))


HEALTHY = Healthy(
    "most of the model is frozen and runs without gradients",
    looks_like=("GRD003", "GRD001", "OPT002", "ADP007"),
)
