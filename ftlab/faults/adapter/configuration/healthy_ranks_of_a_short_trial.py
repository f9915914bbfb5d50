"""A short trial of AdaLoRA that is over before the first rank was to go.

The allocator is not called: within ``tinit`` it would only have listened.
"""

from ftlab.faults.builders import Case, Healthy, plain_case
from ftlab.faults.builders.methods import ranked

STEPS = 40


def build() -> Case:
    """Build AdaLoRA whose warm-up is longer than the run."""
    model = ranked(1000, tinit=2 * STEPS)
    return plain_case(model, lr=5e-3)


HEALTHY = Healthy(
    "all ranks of AdaLoRA are there, and nothing calls the allocator",
    looks_like=("ADP036",),
    steps=STEPS,
)
