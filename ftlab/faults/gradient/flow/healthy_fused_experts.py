"""Full fine-tuning of a mixture of experts as transformers builds it."""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, mixtral
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build a Mixtral with one expert per token and short sequences."""
    model = mixtral()
    optimizer = adamw(model)
    rows = batches(20, size=1, length=6)
    return Case(model, optimizer, rows, plain_step(model, optimizer))


HEALTHY = Healthy(
    "fused-experts",
    "slices of the experts' gradients are exactly 0",
    looks_like=("GRD003", "GRD001"),
)
