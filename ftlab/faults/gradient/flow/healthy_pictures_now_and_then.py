"""A model that sees, trained on text for the most part: one batch in six has pictures.

Until the first of them comes, the adapters of the picture encoder have no gradient.
"""

from ftlab.faults.builders import Case, Healthy, batches, lora, plain_case
from ftlab.faults.builders.seers import seer, shown


def build() -> Case:
    """Build adapters in both parts, and pictures in the last of six batches."""
    model = lora(seer(), target_modules=["q_proj", "v_proj"])
    mixed = batches(6)
    mixed[-1] = shown(mixed[-1])
    return plain_case(model, lr=1e-3, rows=mixed)


HEALTHY = Healthy(
    "no batch runs the picture encoder until the sixth",
    looks_like=("GRD003", "ADP001"),
    steps=30,
)
