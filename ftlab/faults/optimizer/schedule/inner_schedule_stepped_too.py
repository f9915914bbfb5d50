"""The schedulers within a SequentialLR are stepped by the loop as well.

SequentialLR steps the one whose turn it is. A warm-up that is stepped besides is over
after half of its steps, and the decay falls from the first update on.

Fix: step the SequentialLR alone.
Source: seed; torch.optim.lr_scheduler, SequentialLR.step.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, loop_with, lora

WARMUP = 4


def build(fixed: bool) -> Case:
    """Build LoRA under a warm-up and a decay, of which ftlab is given the chain."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    schedulers = torch.optim.lr_scheduler
    warmup = schedulers.LinearLR(optimizer, 0.1, total_iters=WARMUP)
    decay = schedulers.ExponentialLR(optimizer, 0.95)
    chain = schedulers.SequentialLR(optimizer, [warmup, decay], milestones=[WARMUP])

    def after(_: int) -> None:
        for each in [chain] if fixed else [warmup, decay, chain]:
            each.step()

    return loop_with(model, optimizer, batches(), after=after, scheduler=chain)


FAULT = Fault(
    "the warm-up is over too soon, and the rate falls faster than it should",
    code="OPT003",
    places=("call scheduler 1.step",),
    steps=8,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
