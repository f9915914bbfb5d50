"""``init_weights=False`` of OFT, read as "no special initialisation".

It draws the rotations at random: every adapted weight is turned before anything was
learned, and the model that training begins with is not the pretrained one.

Fix: leave ``init_weights`` at True.
Source: peft's ``OFTConfig``, whose False is there for tests.
"""

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.methods import tuned


def build(fixed: bool) -> Case:
    """Build OFT with or without its initialisation."""
    model = tuned("OFTConfig", oft_block_size=16, init_weights=fixed)
    return plain_case(model)


FAULT = Fault(
    "the loss of a fresh OFT begins far above that of the base model",
    code="ADP032",
    places=("config init_weights",),
    evident=0,
    families=("llama", "neox", "own"),
)
