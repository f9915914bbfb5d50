"""Each step registers hooks that scale gradients, with that step's factor.

The hooks of the steps before are still there: the gradient is multiplied by all their
factors together, and an adapter that was to learn a little less learns nothing.

Fix: ``handle.remove()`` after the step, or one hook that looks up the factor.
Source: torch, `Tensor.register_hook`: the handle's ``remove()`` takes the hook off.
"""

from collections.abc import Callable
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, trainable
from ftlab.faults.builders.loops import plain_step


def _scale(factor: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda gradient: gradient * factor


def build(fixed: bool) -> Case:
    """Leave the hooks of each step there, or take them off."""
    model = lora()
    optimizer, scaled = adamw(model), trainable(model)
    step = plain_step(model, optimizer)
    done = 0

    def one(batch: Any) -> float:
        nonlocal done
        done += 1
        factor = 1 - 0.05 / done
        handles = [each.register_hook(_scale(factor)) for each in scaled]
        loss = step(batch)
        if fixed:
            for handle in handles:
                handle.remove()
        return loss

    return Case(model, optimizer, batches(), one)


FAULT = Fault(
    "gradients are scaled by the factors of all steps before",
    code="GRD010",
    places=("param *.lora_?.*",),
    steps=20,
    evident=16,
    families=("llama", "gpt2", "neox", "own"),
)
