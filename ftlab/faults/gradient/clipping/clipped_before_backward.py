"""Gradients are clipped in the function that computes the loss, before backward.

What is clipped there is nothing yet, or what the last update has left.

Fix: clip between ``loss.backward()`` and ``optimizer.step()``; in Lightning in
``configure_gradient_clipping``.
Source: simchowitzlabpublic/nano-world-model#22.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, lora, trainable

LIMIT = 0.05


def build(fixed: bool) -> Case:
    """Train LoRA under SGD with a limit that its gradients exceed."""
    model = lora()
    weights = trainable(model)
    optimizer = torch.optim.SGD(weights, lr=1.0)

    def loss_of(batch: Any) -> torch.Tensor:
        loss = model(**batch).loss
        if not fixed:
            torch.nn.utils.clip_grad_norm_(weights, LIMIT)
        return loss

    def step(batch: Any) -> float:
        loss = loss_of(batch)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        if fixed:
            torch.nn.utils.clip_grad_norm_(weights, LIMIT)
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "the gradient norm never is what clipping says",
    code="GRD011",
    places=("call clip_grad_norm_ before loss.backward",),
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
