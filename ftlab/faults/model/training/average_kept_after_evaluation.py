"""The average of the weights is put in for an evaluation, and training goes on with it.

An exponential average with a decay near 1 is still close to the first weights. Each
evaluation takes the model back there.

Fix: put the weights back after the evaluation, in a ``finally`` block.
Source: PKU-YuanGroup/Open-Sora-Plan#186.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, loop_with
from ftlab.faults.builders.copies import copied, drawn_to, put

EVERY = 8


def build(fixed: bool) -> Case:
    """Train all weights, evaluated with their average."""
    model = base()
    optimizer = adamw(model)
    rows = batches(9)
    average = copied(model)

    @torch.no_grad()
    def evaluate() -> None:
        kept = copied(model)
        put(model, average)
        model.eval()(**rows[-1])
        model.train()
        if fixed:
            put(model, kept)

    def after(done: int) -> None:
        drawn_to(average, model, 1e-3)
        if done % EVERY == EVERY - 1:
            evaluate()

    return loop_with(model, optimizer, rows[:-1], after=after)


FAULT = Fault(
    "the training loss jumps up after each evaluation and never gets far",
    code="MOD012",
    places=("call evaluate",),
    steps=40,
    evident=16,
    families=("llama", "gpt2", "neox", "own"),
)
