"""An OPT: positions and tokens that never occur, and a ReLU.

Short sequences use a third of the learned positions, and the data a part of the
vocabulary: the other rows have gradients of exactly 0. So have the units behind a ReLU
that are off.
"""

from ftlab.faults.builders import Case, Healthy, batches, opt, plain_case


def build() -> Case:
    """Build an OPT with dropout, fully fine-tuned on sequences of 8 tokens."""
    model = opt()
    return plain_case(model, rows=batches(length=8))


HEALTHY = Healthy(
    "most rows of an embedding have a gradient of exactly 0",
    looks_like=("GRD003", "GRD001", "NUM002"),
)
