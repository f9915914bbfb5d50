"""A model in float64 altogether, as to check gradients, with its adapter."""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build a LoRA model and turn all of it into float64."""
    model = lora().double()

    return plain_case(model)


HEALTHY = Healthy(
    "the adapter is in float64",
    looks_like=("ADP019",),
)
