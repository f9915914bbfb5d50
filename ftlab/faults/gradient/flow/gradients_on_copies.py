"""A loop runs the model on its ``state_dict()``, and no parameter ever changes.

``functional_call`` takes a dictionary of tensors. Those of ``state_dict()`` are
detached: the same memory, but other leaves. Backward puts the gradients there, and the
optimizer holds the parameters.

Fix: ``functional_call(model, dict(model.named_parameters()), ...)``.
Source: pytorch/functorch#280; the tests of pytorch/pytorch#61447 state that the
module's own parameters get no gradient.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA that is run on its own parameters, or on leaves made of them."""
    model = lora()
    names = [name for name, each in model.named_parameters() if each.requires_grad]

    def tensors() -> dict[str, torch.Tensor]:
        if fixed:
            return dict(model.named_parameters())
        state: dict[str, torch.Tensor] = model.state_dict()
        return {name: state[name].requires_grad_() for name in names}

    def loss_of(batch: Any) -> torch.Tensor:
        loss: torch.Tensor = torch.func.functional_call(
            model, tensors(), (), batch, tie_weights=False
        ).loss
        return loss

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "a loop with functional_call runs, and the loss stays where it is",
    code="GRD003",
    places=("call torch.func.functional_call",),
    steps=8,
    evident=1,
    also=("ADP001", "NUM003"),
    families=("llama", "gpt2", "neox", "own"),
)
