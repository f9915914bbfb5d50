"""The blocks in the middle are trained, two at each end are frozen.

Of twelve blocks 0, 1, 10 and 11 stand still, which begin alike.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base

DEPTH = 12
ENDS = 2


def build() -> Case:
    """Freeze both ends, and mark what is frozen in an attribute that says the same."""
    model = deep_base(DEPTH).requires_grad_(False)
    block: Any
    for number, block in enumerate(blocks(model)):
        learns = ENDS <= number < DEPTH - ENDS
        block.requires_grad_(learns)
        block.requires_grad = learns
    return plain_case(model)


HEALTHY = Healthy(
    "blocks 0, 1, 10 and 11 are frozen, and an attribute says so",
    looks_like=("MOD014",),
)
