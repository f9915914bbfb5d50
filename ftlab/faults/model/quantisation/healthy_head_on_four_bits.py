"""A head on a body of four bits that stays as it is, on purpose.

No quantised weight is trained and there is no adapter; nothing within the blocks is
trainable, and nothing there should be.
"""

from ftlab.faults.builders import Case, Healthy, llama, plain_case
from ftlab.faults.builders.blocks import four_bit


def build() -> Case:
    """Build a quantised model of which only the head is trained."""
    model = four_bit(llama(hidden_size=128))
    model.requires_grad_(False)
    model.lm_head.requires_grad_(True)
    return plain_case(model.train(), lr=2e-3)


HEALTHY = Healthy(
    "no quantised weight moves, and no adapter is there",
    looks_like=("MOD002", "GRD003"),
    needs=("bitsandbytes>=0.46",),
)
