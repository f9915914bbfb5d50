"""Pure bf16 at a small learning rate, rounded up or down by chance.

An update far below the distance of two numbers moves few weights, each by a whole step;
on average all of them move as they should.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, llama, loop_case, seeded, trainable


class ChanceSgd(torch.optim.Optimizer):
    """Moves by the sign of the gradient, and rounds up or down by chance."""

    def __init__(self, weights: list[torch.nn.Parameter], lr: float) -> None:
        super().__init__(weights, {"lr": lr})
        self.dice = seeded()

    @torch.no_grad()
    # torch types one overload without a closure and one with it.
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update all weights."""
        for group in self.param_groups:
            for weight in group["params"]:
                wide = weight.float() - group["lr"] * weight.grad.float().sign()
                weight.copy_(self._rounded(wide))

    def _rounded(self, wide: torch.Tensor) -> torch.Tensor:
        """Add noise below the last bit that bf16 keeps, and cut off what is below."""
        bits = wide.view(torch.int32)
        noise = torch.randint(0, 1 << 16, bits.shape, generator=self.dice).int()
        return ((bits + noise) & -65536).view(torch.float32).to(torch.bfloat16)


def build() -> Case:
    """Build a Llama in bf16 at a learning rate of 2e-6."""
    model = llama().to(torch.bfloat16)
    optimizer = ChanceSgd(trainable(model), lr=2e-6)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "49 of 50 stored weights do not change in an update",
    looks_like=("NUM002",),
)
