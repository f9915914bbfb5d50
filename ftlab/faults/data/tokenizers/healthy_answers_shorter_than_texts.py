"""An encoder and a decoder: labels are a summary, shorter than what is read."""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches
from ftlab.faults.builders.zoo import t5
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train on the last quarter of each row as its summary."""
    model = t5()
    optimizer = adamw(model)
    rows = []
    for row in batches():
        kept = row["labels"].shape[1] // 4
        rows.append({**row, "labels": row["labels"][:, -kept:].contiguous()})
    return Case(model, optimizer, rows, plain_step(model, optimizer))


HEALTHY = Healthy(
    "answers-shorter-than-texts",
    "labels have another length than the ids",
    looks_like=("DAT002",),
    steps=24,
)
