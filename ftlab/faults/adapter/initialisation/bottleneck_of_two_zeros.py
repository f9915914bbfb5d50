"""Both layers of a bottleneck adapter are 0, to begin exactly where the base model is.

With the last layer at 0 the adapter adds nothing at first, and learns. With the first
one at 0 as well there is no gradient for either.

Fix: zeros for the last layer alone.
Source: adapters after Houlsby et al. 2019, written by hand.
"""

import torch

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.bottleneck import with_bottlenecks


def build(fixed: bool) -> Case:
    """Build a model with bottlenecks, and zero one layer of each or both."""
    model, added = with_bottlenecks()
    if not fixed:
        for bottleneck in added:
            torch.nn.init.zeros_(bottleneck.down.weight)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "an adapter of one's own learns nothing",
    code="ADP039",
    places=("param *.bottleneck.*",),
    steps=10,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
