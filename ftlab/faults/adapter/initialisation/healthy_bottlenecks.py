"""Bottleneck adapters written by hand, whose last layer is 0 at the start."""

from ftlab.faults.builders import Case, Healthy, plain_case
from ftlab.faults.builders.bottleneck import with_bottlenecks


def build() -> Case:
    """Build a frozen model with a bottleneck behind each block."""
    model, _ = with_bottlenecks()
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "half of the trained tensors are 0, the other half have gradients of 0 at first",
    looks_like=("ADP039", "GRD003", "ADP037"),
)
