"""A LoRA learns a task at a rate that suits it, and takes a few directions for it."""

from ftlab.faults.adapter.configuration import base_overrun
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build a base that knows texts, and train it on conversations."""
    return base_overrun.build(fixed=True)


HEALTHY = Healthy(
    "some of the largest directions are not the base's",
    looks_like=("ADP063",),
    steps=65,
)
