"""Full fine-tuning of a mixture of experts as transformers builds it."""

from ftlab.faults.builders import Case, Healthy, batches, mixtral, plain_case


def build() -> Case:
    """Build a Mixtral with one expert per token and short sequences."""
    model = mixtral()
    rows = batches(20, size=1, length=6)
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "slices of the experts' gradients are exactly 0",
    looks_like=("GRD003", "GRD001"),
)
