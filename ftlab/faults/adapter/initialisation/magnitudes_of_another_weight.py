"""DoRA by hand, its magnitudes taken of a weight that is not the pretrained one.

The layer is made first, with a linear layer drawn anew, and the pretrained one is put
in later. The magnitudes are still those of the first: every row has another length.

Fix: take the norms of the pretrained weight's rows.
Source: ml-explore/mlx-examples#832.
"""

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.own_layers import with_directions


def build(fixed: bool) -> Case:
    """Build DoRA by hand."""
    model = with_directions(of_the_weight=fixed)
    return plain_case(model, lr=1e-3)


FAULT = Fault(
    "the loss jumps up the moment the adapter is attached",
    code="ADP043",
    places=("module *",),
    steps=4,
    evident=0,
    families=("llama", "neox", "own"),
)
