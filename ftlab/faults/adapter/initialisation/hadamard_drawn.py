"""``init_weights=False`` of LoHa: all four of its factors are drawn at random.

The product that is added to each weight is small, so that the loss looks nearly right;
it is noise all the same, and the first steps go into undoing it.

Fix: leave ``init_weights`` at True.
Source: peft's ``LoHaConfig``, whose False is there for tests.
"""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.tiny import adamw, batches
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build LoHa with or without its initialisation."""
    model = tuned("LoHaConfig", r=8, alpha=16, init_weights=fixed)
    optimizer = adamw(model)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "hadamard-drawn",
    "a fresh LoHa gives other answers than the base model",
    code="ADP032",
    places=("config init_weights",),
    builder=build,
    steps=6,
    evident=0,
    families=("llama", "neox", "own"),
)
