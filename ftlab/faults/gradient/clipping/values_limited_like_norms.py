"""Values are clipped to a limit that is far below most of them.

``clip_grad_value_`` in the place of ``clip_grad_norm_``: what exceeds the limit becomes
the limit, so that large and small elements are alike, and the direction turns.

Fix: ``clip_grad_norm_(parameters, 1.0)``.
Source: Happy-Algorithms-League/hal-cgp#210, neuroailab/tfutils#115.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, updated_by


def build(fixed: bool) -> Case:
    """Train a whole model under SGD, clipped by value or by norm."""
    model = base()
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=0.3)

    def update() -> None:
        if fixed:
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
        else:
            torch.nn.utils.clip_grad_value_(weights, 5e-4)
        optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "most weights move by the same amount in each step",
    code="GRD015",
    places=("call clip_grad_value_",),
    steps=9,
    evident=7,
    families=("llama", "gpt2", "neox", "own"),
)
