"""A T5 under Adafactor, which finds its step size by itself.

The optimizer's learning rate is `None`. Encoder, decoder and head share an embedding,
and only the lowest block of each has the table of relative positions.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, loop_case, t5


def build() -> Case:
    """Build a T5 that continues the first half of a row."""
    from transformers import Adafactor

    model = t5(num_layers=1)
    optimizer = Adafactor(model.parameters(), relative_step=True)

    def loss_of(batch: Any) -> torch.Tensor:
        first, second = (h.contiguous() for h in batch["input_ids"].chunk(2, 1))
        return model(input_ids=first, labels=second).loss

    return loop_case(model, optimizer, loss_of=loss_of)


HEALTHY = Healthy(
    "the optimizer has no learning rate, three modules have one weight",
    looks_like=("OPT001", "OPT002", "ADP001", "NUM002"),
)
