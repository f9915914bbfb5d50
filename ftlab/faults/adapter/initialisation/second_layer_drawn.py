"""LoRA by hand out of two linear layers, and nobody sets the second one to 0.

nn.Linear draws its weight. The adapted layers are disturbed before the first step.

Fix: ``nn.init.zeros_(self.up.weight)`` where the adapter is made.
Source: hao-ai-lab/FastVideo#781, mflux-community/mflux#739.
"""

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.own_layers import with_products


def build(fixed: bool) -> Case:
    """Build LoRA by hand."""
    model = with_products(zeros=fixed)
    return plain_case(model, lr=1e-3)


FAULT = Fault(
    "the model is worse than its base as soon as the adapter is on it",
    code="ADP032",
    places=("param *.widen.weight",),
    steps=4,
    evident=0,
    families=("llama", "neox", "own"),
)
