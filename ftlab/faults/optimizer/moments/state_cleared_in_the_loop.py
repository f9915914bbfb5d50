"""The optimizer's state is cleared to save memory, again and again.

Meant for after the run, or for one evaluation; in the loop it throws the moments away.

Fix: leave ``optimizer.state`` alone, or use an optimizer with small moments.
Source: measured.
"""

from typing import Any

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Train all weights, and clear the state every third step or never."""
    model = base()
    optimizer = adamw(model, lr=3e-4)
    train = plain_step(model, optimizer)
    steps = 0

    def step(batch: Any) -> float:
        nonlocal steps
        steps += 1
        loss = train(batch)
        if steps % 3 == 0 and not fixed:
            optimizer.state.clear()
        return loss

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "state-cleared-in-the-loop",
    "the moments are cleared every few steps",
    code="OPT023",
    places=("optimizer state",),
    steps=12,
    evident=9,
    families=("llama", "gpt2", "neox", "own"),
)
