"""A loop freezes every weight of the base, and misspells how.

``parameter.require_grad = False`` gives the tensor a new attribute. Nothing is frozen:
the optimizer gets all of the base beside the small layers.

Fix: ``parameter.requires_grad = False``.
Source: seed; a tensor takes an attribute of any name; measured.
"""

from ftlab.faults.builders import Case, Fault, base, plain_case
from ftlab.faults.builders.blocks import blocks


def build(fixed: bool) -> Case:
    """Train the last block alone."""
    model = base()
    for parameter in model.parameters():
        setattr(parameter, "requires_grad" if fixed else "require_grad", False)
    blocks(model)[-1].requires_grad_(True)
    return plain_case(model)


FAULT = Fault(
    "the whole model is trained although it was frozen",
    code="MOD014",
    places=("param *",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
