"""LoRA in float64, for a comparison that shall not depend on rounding."""

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build LoRA on a model in float64, at a very small learning rate."""
    model = lora(llama().double()).double()
    return plain_case(model, lr=1e-7)


HEALTHY = Healthy(
    "updates of 1e-7, which float32 could hardly hold",
    looks_like=("NUM002", "ADP001"),
)
