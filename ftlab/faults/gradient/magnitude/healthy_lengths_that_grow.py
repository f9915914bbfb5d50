"""A curriculum: rows become longer, and several are packed into one.

Positions begin anew within a row, labels at the seams are ignored; shapes, losses and
gradients change their size at each stage.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, llama, loss_step

STAGES = (4, 8, 16)
STAGE = 70


def packed(length: int) -> list[Any]:
    """Pack pairs of rows of this length."""
    made = []
    for batch in batches(8, size=4, length=length):
        ids = batch["input_ids"].reshape(2, -1)
        places = torch.arange(length).repeat(2, 2)
        labels = ids.clone()
        labels[places == 0] = -100
        made.append({"input_ids": ids, "position_ids": places, "labels": labels})
    return made


def build() -> Case:
    """Build full fine-tuning on rows of three lengths, one after the other."""
    model = llama()
    optimizer = adamw(model)
    stages = [packed(length) for length in STAGES]

    def loss_of(_: Any) -> torch.Tensor:
        done = len(case.losses)
        rows = stages[min(done // STAGE, len(stages) - 1)]
        return model(**rows[done % len(rows)]).loss

    case = Case(model, optimizer, [None], loss_step(loss_of, optimizer))
    return case


HEALTHY = Healthy(
    "the loss jumps when the rows become longer",
    looks_like=("GRD002", "NUM001"),
)
