"""A Qwen3 in bf16 autocast, with a plateau between warm-up and decay.

Its queries and keys are normalised, so the gradients of their projections are small
against those of the values; embedding and head are one tensor.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, cast_loss, loop_case, qwen3


def build() -> Case:
    """Build a Qwen3 with a schedule of warm-up, plateau and decay."""
    from transformers import get_wsd_schedule

    model = qwen3()
    optimizer = adamw(model, lr=2e-3)
    scheduler = get_wsd_schedule(optimizer, 20, 60, num_training_steps=200)

    loss_of = cast_loss(model, torch.bfloat16)
    return loop_case(model, optimizer, loss_of=loss_of, scheduler=scheduler, clip=1.0)


HEALTHY = Healthy(
    "gradients of queries and keys are small, the learning rate ends at 0",
    looks_like=("GRD001", "OPT001", "OPT003", "NUM002"),
)
