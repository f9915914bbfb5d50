"""A Trainer with its defaults: a linear schedule to 0 and clipping to a norm of 1."""

from ftlab.faults.builders import Case, Healthy, lora, trained


def build() -> Case:
    """Build LoRA in a Trainer."""
    return trained(lora())


HEALTHY = Healthy(
    "zero_grad follows the scheduler's step; the last learning rates are next to 0",
    looks_like=("OPT003", "GRD003", "NUM002"),
)
