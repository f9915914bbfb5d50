"""A guard against bad steps puts the weights back at every step.

The weights are copied before the step, to be put back where the loss is not finite. The
condition has lost its ``not``.

Fix: put the copy back where ``not math.isfinite(loss)``.
Source: seed; the end state of PKU-YuanGroup/Open-Sora-Plan#186 and others; measured.
"""

import math
from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, base, batches, plain_step
from ftlab.faults.builders.copies import copied, put


def build(fixed: bool) -> Case:
    """Train all weights, guarded."""
    model = base()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        kept = copied(model)
        loss = train(batch)
        if math.isfinite(loss) != fixed:
            put(model, kept)
        return loss

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "everything runs, and the loss of each batch is the same in every epoch",
    code="MOD012",
    places=("call optimizer.step",),
    steps=12,
    evident=4,
    also=("NUM003",),
    families=("llama", "gpt2", "neox", "own"),
)
