"""LoRA in float64, for a comparison that shall not depend on rounding."""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build LoRA on a model in float64, at a very small learning rate."""
    model = lora(llama().double()).double()
    optimizer = adamw(model, lr=1e-7)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


HEALTHY = Healthy(
    "double-precision",
    "updates of 1e-7, which float32 could hardly hold",
    looks_like=("NUM002", "ADP001"),
    builder=build,
)
