"""Gradients are clipped when the optimizer has already used them.

``clip_grad_norm_`` stands below ``optimizer.step()``. A norm is logged, a limit is set,
and each update is made from the whole gradient.

Fix: clip between ``loss.backward()`` and ``optimizer.step()``.
Source: taesunwhang/UMS-ResSel#3, VGraphRNN/VGRNN#4, awslabs/graphstorm#1366.
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, trainable, updated_by

LIMIT = 0.05


def build(fixed: bool) -> Case:
    """Train LoRA under SGD with a limit that its gradients exceed."""
    model = lora()
    weights = trainable(model)
    optimizer = torch.optim.SGD(weights, lr=1.0)

    def update() -> None:
        if fixed:
            torch.nn.utils.clip_grad_norm_(weights, LIMIT)
        optimizer.step()
        if not fixed:
            torch.nn.utils.clip_grad_norm_(weights, LIMIT)

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "clipping is on and one bad batch still throws the weights away",
    code="GRD011",
    places=("call clip_grad_norm_ after optimizer.step",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
