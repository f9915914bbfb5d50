"""Full fine-tuning with a weight decay of 100 where 0.01 was meant.

Each step of AdamW takes lr x 100 of every weight, many times what the gradient moves:
the pretrained weights fade while the loss still falls at first.

Fix: ``weight_decay=1e-2``, not ``1e2``.
Source: measured.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case


def build(fixed: bool) -> Case:
    """Train all weights with the decay that was meant, or with the one typed."""
    model = base()
    decay = 1e-2 if fixed else 1e2
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=decay)
    return loop_case(model, optimizer)


FAULT = Fault(
    "weight decay takes more of each weight than the gradient gives",
    code="OPT022",
    places=("optimizer weight_decay",),
    steps=10,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
