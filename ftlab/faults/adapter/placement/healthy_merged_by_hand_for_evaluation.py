"""Each evaluation adds the adapter to the base by hand, and takes it out again.

While it is in the base the adapter is off. Rounding leaves a little of each cycle.
"""

from ftlab.faults.builders.hand_merges import merged_for_evaluation
from ftlab.faults.fault import Case, Healthy

EVERY = 4


def build() -> Case:
    """Build a LoRA run with a merged evaluation every so often."""
    return merged_for_evaluation(EVERY, 5e-3, taken_out=True)


HEALTHY = Healthy(
    "evaluations change the base weights, which do not come back bit for bit",
    looks_like=("ADP023", "ADP009", "ADP007"),
    steps=60,
)
