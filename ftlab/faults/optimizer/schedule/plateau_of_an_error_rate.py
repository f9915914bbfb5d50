"""``ReduceLROnPlateau(optimizer, mode="max")``, stepped with an error rate.

The metric was turned round, and the mode was not: the rate falls with the errors.

Fix: ``mode="min"``, or the accuracy.
Source: the mirror of md-mohaiminul/ViS4mer#4.
"""

from ftlab.faults.builders.pairs import judged_by_share
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Wait for a plateau of an error rate, with a mode for it or for its mirror."""
    return judged_by_share(right=False, mode="min" if fixed else "max", patience=3)


FAULT = Fault(
    "the rate falls to nothing while there are fewer and fewer errors",
    code="OPT017",
    places=("config mode",),
    steps=12,
    evident=4,
)
