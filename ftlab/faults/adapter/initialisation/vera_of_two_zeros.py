"""``d_initial=0`` makes both vectors of VeRA 0, and neither can leave it.

VeRA's b starts at 0 and d at 0.1. The gradient of each is a product with the other.

Fix: leave ``d_initial`` at 0.1.
Source: Kopiczko et al. 2024, VeRA; the saddle as in NovaSky-AI/SkyRL#852.
"""

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.methods import tuned


def build(fixed: bool) -> Case:
    """Build VeRA with one vector at 0, or with both."""
    model = tuned("VeraConfig", r=32, d_initial=0.1 if fixed else 0.0)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "VeRA learns nothing, whatever the learning rate",
    code="ADP039",
    places=("param *.vera_lambda_?.*",),
    steps=10,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
