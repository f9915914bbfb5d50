"""A LoRA whose parameters are held outside, in a loop that runs the inner model.

``functional_call`` is given the base model within the PeftModel: the model that is
watched is never called, and the optimizer holds a copy of each factor.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, lora


def build() -> Case:
    """Build LoRA and train copies of its factors."""
    model = lora()
    inner = model.get_base_model()
    held: dict[str, torch.Tensor] = {
        name: each.detach().clone().requires_grad_()
        for name, each in inner.named_parameters()
        if each.requires_grad
    }
    optimizer = torch.optim.AdamW(held.values(), lr=1e-3, weight_decay=0.0)

    def loss_of(batch: Any) -> torch.Tensor:
        return torch.func.functional_call(inner, held, (), batch).loss

    return loop_case(model, optimizer, loss_of=loss_of)


HEALTHY = Healthy(
    "no factor has a gradient, none is in the optimizer, and the model is not called",
    looks_like=("OPT001", "OPT002", "GRD003", "ADP001", "NUM003"),
    steps=60,
)
