"""Lion, written by hand: every weight moves by the learning rate, up or down.

It keeps one moment, and its update knows nothing of the gradient's size. Decay is
strong, as Lion's authors advise.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora, trainable


class Lion(torch.optim.Optimizer):
    """Moves by the sign of the interpolated gradient."""

    def __init__(
        self, weights: list[torch.nn.Parameter], lr: float, weight_decay: float
    ) -> None:
        super().__init__(weights, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    # torch types one overload without a closure and one with it.
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update all weights."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                moment = state.setdefault("exp_avg", torch.zeros_like(weight))
                sign = torch.sign(0.9 * moment + 0.1 * weight.grad)
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(sign, alpha=-group["lr"])
                moment.mul_(0.99).add_(weight.grad, alpha=0.01)


def build() -> Case:
    """Build LoRA under Lion."""
    model = lora()
    optimizer = Lion(trainable(model), lr=3e-4, weight_decay=0.3)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "an optimizer of one's own with a strong decay",
    looks_like=("ADP002", "NUM002"),
)
