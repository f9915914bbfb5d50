"""A pruned model is trained on: half of each weight is masked.

The masked elements have a gradient of exactly 0 and never move, on purpose.
"""

from torch import nn
from torch.nn.utils import prune

from ftlab.faults.builders import Case, Healthy, own, plain_case


def build() -> Case:
    """Build a model of whose linear layers half of the weights are masked."""
    model = own()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            prune.l1_unstructured(module, "weight", amount=0.5)
    return plain_case(model)


HEALTHY = Healthy(
    "half of the weights have a gradient of 0 and stand still",
    looks_like=("NUM002", "GRD003"),
)
