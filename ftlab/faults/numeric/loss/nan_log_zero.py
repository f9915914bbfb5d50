"""The loss turns NaN as soon as the model is sure of itself.

A hand-written entropy bonus takes ``log(softmax(x))``. Where a probability underflows
to 0 the logarithm is -inf, and 0 times -inf is NaN. The model's own loss is fine.

Fix: ``log_softmax``, or ``torch.xlogy(p, p)``.
Source: custom KL, focal and DPO losses; the class of pytorch/pytorch#68425.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build it with a head that is confident from the start."""
    model = lora(modules_to_save=["lm_head"])
    with torch.no_grad():
        head = model.base_model.model.lm_head.modules_to_save[model.active_adapter]
        head.weight.mul_(400)

    def entropy(logits: torch.Tensor) -> torch.Tensor:
        if fixed:
            logs = logits.log_softmax(-1)
            return -(logs.exp() * logs).sum(-1).mean()
        chances = logits.softmax(-1)
        return -(chances * torch.log(chances)).sum(-1).mean()

    def loss_of(batch: Any) -> torch.Tensor:
        output = model(**batch)
        return output.loss - 0.01 * entropy(output.logits)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss is NaN although the model's own loss is a number",
    code="NUM001",
    places=("op log",),
)
