"""A schedule in epochs, stepped after each: stairs, and a rate that stands still.

Six updates come between two steps of the scheduler, and its ``T_max`` is ten.
"""

from ftlab.faults.builders import Case, Healthy, by_epoch

EPOCH, EPOCHS = 6, 10


def build() -> Case:
    """Build LoRA under a cosine over ten epochs of six updates."""
    return by_epoch(EPOCH, 1e-2, EPOCHS)


HEALTHY = Healthy(
    "a scheduler that is stepped every few updates, by a plan of ten steps",
    looks_like=("OPT003", "OPT005", "OPT011", "OPT016"),
    steps=EPOCH * EPOCHS,
)
