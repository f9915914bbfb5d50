"""Each parameter is clipped to the limit by itself, in a loop.

The limit was meant for all gradients together. Tensors with large gradients are shrunk
to the same norm, the others stay: the update points somewhere else.

Fix: ``clip_grad_norm_(parameters, limit)``, once, with all of them.
Source: clab/dynet#1374; huggingface/transformers#614 mended it per group.
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, trainable, updated_by

LIMIT = 0.02


def build(fixed: bool) -> Case:
    """Train LoRA on all layers under SGD."""
    model = lora(target_modules="all-linear")
    weights = trainable(model)
    optimizer = torch.optim.SGD(weights, lr=1.0)

    def update() -> None:
        for part in [weights] if fixed else weights:
            torch.nn.utils.clip_grad_norm_(part, LIMIT)
        optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "all layers learn equally fast, and the norm is above its limit",
    code="GRD013",
    places=("call clip_grad_norm_",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
