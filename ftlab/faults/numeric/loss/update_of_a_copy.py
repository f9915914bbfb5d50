"""An optimizer of one's own gives a local name a new value.

``p = p - lr * p.grad`` computes the update and binds it to the name of the loop; the
parameter keeps its value. Gradients are right, the learning rate is right, step() is
called, and no weight ever changes.

Fix: write in place: ``p.sub_(lr * p.grad)`` under ``torch.no_grad()``.
Source: TrainCheck's invariant "step changes parameters" (PT-FORUM-84911);
asked again and again of loops written without torch.optim.
"""

from collections.abc import Callable
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case, trainable


class PlainDescent(torch.optim.Optimizer):
    """Gradient descent as in a textbook.

    Parameters
    ----------
    parameters
        What to train.
    lr
        The learning rate.
    in_place
        Whether the update is written into the parameter.
    """

    def __init__(self, parameters: Any, lr: float, in_place: bool) -> None:
        super().__init__(parameters, {"lr": lr})
        self.in_place = in_place

    @torch.no_grad()
    # torch types one overload without a closure and one with it.
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and self.in_place:
                    p.sub_(group["lr"] * p.grad)
                elif p.grad is not None:
                    p = p - group["lr"] * p.grad


def build(fixed: bool) -> Case:
    """Build full fine-tuning with a descent that may be lost."""
    model = base()
    optimizer = PlainDescent(trainable(model), 0.05, fixed)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the loss is flat; gradients and learning rate look normal",
    code="NUM003",
    places=("call optimizer.step",),
    steps=12,
    evident=7,
    families=("llama", "gpt2", "neox", "own"),
)
