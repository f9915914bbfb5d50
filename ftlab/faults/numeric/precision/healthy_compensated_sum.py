"""Pure bf16 at a small learning rate, with a Kahan sum in the optimizer.

What rounding takes off an update is kept and added to the next one. Most stored weights
stand still at most steps, and move all the same.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, llama, loop_case, trainable


class KahanAdam(torch.optim.Optimizer):
    """Adam that keeps what rounding has taken off each update."""

    def __init__(self, weights: list[torch.nn.Parameter], lr: float) -> None:
        super().__init__(weights, {"lr": lr})

    @torch.no_grad()
    # torch types one overload without a closure and one with it.
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update all weights."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, group["lr"])

    def _update(self, weight: Any, lr: float) -> None:
        state = self.state[weight]
        if not state:
            state["step"] = 0
            for name in ("exp_avg", "exp_avg_sq", "shift"):
                state[name] = torch.zeros_like(weight, dtype=torch.float32)
        grad = weight.grad.float()
        state["step"] += 1
        state["exp_avg"].lerp_(grad, 0.1)
        state["exp_avg_sq"].lerp_(grad.square(), 0.001)
        mean = state["exp_avg"] / (1 - 0.9 ** state["step"])
        size = state["exp_avg_sq"] / (1 - 0.999 ** state["step"])
        state["shift"] -= lr * mean / (size.sqrt() + 1e-8)
        wanted = weight.float() + state["shift"]
        weight.copy_(wanted)
        state["shift"].copy_(wanted - weight.float())


def build() -> Case:
    """Build a Llama in bf16 at a learning rate of 2e-6."""
    model = llama().to(torch.bfloat16)
    optimizer = KahanAdam(trainable(model), lr=2e-6)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "49 of 50 stored weights do not change in an update",
    looks_like=("NUM002",),
)
