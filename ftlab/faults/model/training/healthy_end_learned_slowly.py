"""A small rate, at which the end of an answer is learned only after a hundred steps.

The first answers do not end, and the end has a probability of less than a thousandth;
it grows each time.
"""

from ftlab.faults.builders.talks import next_token, talking
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build a base that knows texts without an end, and train it on conversations."""
    return talking(next_token, knows="texts", lr=3e-4)


HEALTHY = Healthy(
    "no answer ends within the first steps, and the end is hardly likely",
    looks_like=("MOD027",),
    steps=65,
)
