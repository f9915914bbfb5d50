"""A rate that falls when the error rate falls no more: all has been learnt.

The numbers are shares of 120 tokens, and go from nearly 1 to 0.
"""

from ftlab.faults.builders.pairs import judged_by_share
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Wait for a plateau of an error rate."""
    return judged_by_share(right=False, mode="min", patience=2, factor=0.5)


HEALTHY = Healthy(
    "a rate that is halved again and again, and a share that has moved past 1/2",
    looks_like=("OPT017",),
    steps=40,
)
