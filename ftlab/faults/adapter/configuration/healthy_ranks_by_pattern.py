"""LoRA with a rank and an alpha of their own for one projection."""

from ftlab.faults.builders import Case, Healthy, attention, base, feed_forward, lora
from ftlab.faults.builders.loops import plain_case


def build() -> Case:
    """Build a LoRA model with patterns."""
    model = base()
    name = (attention(model) or feed_forward(model))[0]
    model = lora(model, rank_pattern={name: 2}, alpha_pattern={name: 3})

    return plain_case(model)


HEALTHY = Healthy(
    "layers differ in rank, alpha and scaling",
    looks_like=(
        "ADP017",
        "ADP011",
    ),
)
