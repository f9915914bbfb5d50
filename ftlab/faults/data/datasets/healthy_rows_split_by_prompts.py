"""Training and evaluation share their instruction and their form, and no question."""

from ftlab.faults.builders.rows import looked_at, pairs
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Hold back questions of the same form."""
    told = "Answer the question below in some sentences, and name what is near."
    rows, held = pairs(200), pairs(40, offset=1)
    for row in [*rows, *held]:
        row["prompt"] = f"{told}\n\n{row['prompt']}"
    return looked_at(rows, evaluation=held)


HEALTHY = Healthy(
    "training and evaluation are alike",
    looks_like=("DAT061",),
    steps=0,
)
