"""``ReduceLROnPlateau(optimizer, mode="max")``, stepped with a validation loss.

The mode was written for an accuracy. Each improvement counts as none, and the rate is
halved again and again while the loss falls.

Fix: ``mode="min"``.
Source: torch, ``torch.optim.lr_scheduler.ReduceLROnPlateau`` (``mode``).
"""

from ftlab.faults.builders.pairs import judged_by_loss
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Wait for a validation loss that grows, or that falls."""
    return judged_by_loss(mode="min" if fixed else "max")


FAULT = Fault(
    "the rate falls to nothing while the validation loss gets better",
    code="OPT017",
    places=("config mode",),
    steps=16,
    evident=8,
)
