"""Pure fp16 with Adam: its eps of 1e-8 is 0 in fp16.

Squared gradients below 6e-8 are 0 as well, so the first update divides by 0. Rows of
the embedding whose tokens were not in the batch become NaN, and the next loss is NaN.

Fix: float32 weights under autocast with a GradScaler; in pure fp16 at least eps=1e-4.
Source: matanbt/TROPT#8, afiaka87/glide-finetune#5, keras-team/keras#11860.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case


def build(fixed: bool) -> Case:
    """Build it in fp16, trained in full."""
    model = base().half()
    eps = 1e-4 if fixed else 1e-8
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=eps)
    return loop_case(model, optimizer, loss_of=lambda batch: model(**batch).loss)


FAULT = Fault(
    "the loss is NaN from the second step on",
    code="NUM007",
    places=("optimizer eps",),
    steps=4,
    also=("NUM001",),
    families=("llama", "gpt2", "neox", "own"),
)
