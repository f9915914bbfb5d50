"""``ReduceLROnPlateau(optimizer)``, stepped with the accuracy of each evaluation.

``mode`` is "min" by default: each evaluation that is better than the first one counts
as a bad one, and the rate is cut again and again until nothing moves.

Fix: ``mode="max"``.
Source: md-mohaiminul/ViS4mer#4.
"""

from ftlab.faults.builders.pairs import judged_by_share
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Wait for a plateau of an accuracy, with a mode for it or without."""
    return judged_by_share(right=True, mode="max" if fixed else "min", patience=3)


FAULT = Fault(
    "the rate falls to nothing while each evaluation is better than the last",
    code="OPT017",
    places=("config mode",),
    steps=12,
    evident=4,
)
