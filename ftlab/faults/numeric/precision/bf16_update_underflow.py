"""Full fine-tuning in pure bf16 with a small learning rate: nothing moves.

An update of 1e-6 is below half the distance between two bf16 numbers near the weights,
so each addition rounds back to the old value. Gradients and learning rate look normal.

Fix: weights in float32, computing in bf16 under autocast.
Source: pytorch/ao#1124, meta-pytorch/torchtune#2254, arXiv:2010.06192.
"""

import torch

from ftlab.faults.builders import Case, Fault, cast_loss, llama, plain_case


def build(fixed: bool) -> Case:
    """Build it in bf16, or in float32 with bf16 autocast."""
    model = llama()
    if not fixed:
        model = model.to(torch.bfloat16)
    return plain_case(
        model, lr=1e-6, loss_of=cast_loss(model, torch.bfloat16, enabled=fixed)
    )


FAULT = Fault(
    "gradients are normal and the weights do not move",
    code="NUM002",
    places=("param *.mlp.*", "param *embed_tokens*", "param *lm_head*"),
    steps=34,
)
