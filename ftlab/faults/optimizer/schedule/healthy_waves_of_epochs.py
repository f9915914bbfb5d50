"""A CosineAnnealingLR that is used as a wave, stepped after each epoch.

Its ``T_max`` is three epochs of four updates: the rate is at its top every six epochs.
"""

from ftlab.faults.builders import Case, Healthy, by_epoch

EPOCH, LENGTH = 4, 3


def build() -> Case:
    """Build LoRA under a wave of six epochs."""
    return by_epoch(EPOCH, 5e-3, LENGTH)


HEALTHY = Healthy(
    "a T_max of three, and a rate that comes back to its top again and again",
    looks_like=("OPT011", "OPT003", "OPT016"),
    steps=EPOCH * LENGTH * 5,
)
