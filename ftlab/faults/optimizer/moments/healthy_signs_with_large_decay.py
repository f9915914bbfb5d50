"""Full fine-tuning with Lion: signs as updates, betas 0.95 and 0.98, a decay of 1."""

from collections.abc import Iterable
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, loop_case


class Lion(torch.optim.Optimizer):
    """The optimizer as its paper has it."""

    def __init__(self, params: Iterable[Any], lr: float, weight_decay: float) -> None:
        settings = {"lr": lr, "betas": (0.95, 0.98), "weight_decay": weight_decay}
        super().__init__(params, settings)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move each weight by the learning rate."""
        for group in self.param_groups:
            short, long = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["exp_avg"] = torch.zeros_like(parameter)
                average = state["exp_avg"]
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                sign = average.lerp(parameter.grad, 1 - short).sign()
                parameter.sub_(sign, alpha=group["lr"])
                average.lerp_(parameter.grad, 1 - long)


def build() -> Case:
    """Train all weights with a decay ten times that of AdamW, as is usual for Lion."""
    model = base()
    optimizer = Lion(model.parameters(), lr=1e-4, weight_decay=1.0)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "an optimizer without second moments, and a weight decay of 1",
    looks_like=("OPT022", "OPT024", "NUM002"),
)
