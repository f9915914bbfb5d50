"""LoRA on a classifier whose head was trained before and shall stay.

A frozen head is a fault where it is new, and a choice where it is not.
"""

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, plain_case, plain_step
from ftlab.faults.builders.heads import classifier
from ftlab.faults.builders.zoo import classes


def build() -> Case:
    """Train the head of a classifier, then an adapter below it."""
    model = classifier()
    rows = classes(batches())
    head = torch.optim.AdamW(model.score.parameters(), lr=1e-2)
    Case(model, head, rows, plain_step(model, head)).run(100)
    model.requires_grad_(False)
    model = lora(model, task_type=None)
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "the head of a classifier is frozen",
    looks_like=("ADP015",),
)
