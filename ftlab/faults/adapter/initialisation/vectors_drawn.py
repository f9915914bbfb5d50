"""``init_ia3_weights=False``: the vectors of IA3 are drawn around 0 in place of 1.

Keys, values and activations are multiplied by noise of both signs. The first steps go
into undoing that.

Fix: leave ``init_ia3_weights`` at True.
Source: peft's ``IA3Config``, whose False is there for tests.
"""

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.methods import rescaled


def build(fixed: bool) -> Case:
    """Build IA3 with or without its initialisation."""
    model = rescaled(init_ia3_weights=fixed)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the loss of a fresh IA3 begins far above that of the base model",
    code="ADP032",
    places=("config init_ia3_weights",),
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
