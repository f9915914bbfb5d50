"""Weights in two parts, direction and length (weight norm), and a norm with no bias.

torch computes the weight from two parameters at each forward; the module's own
``weight`` is no parameter any more.
"""

from torch import nn

from ftlab.faults.builders import Case, Healthy, own, plain_case


def build() -> Case:
    """Build a model whose feed-forward parts have weight norm."""
    model = own()
    for floor in model.tower:
        nn.utils.parametrizations.weight_norm(floor.squeeze)
        nn.utils.parametrizations.weight_norm(floor.grow)
    return plain_case(model, weight_decay=0.01)


HEALTHY = Healthy(
    "a module's weight is computed from two parameters at each forward",
    looks_like=("OPT001", "OPT002", "GRD003"),
)
