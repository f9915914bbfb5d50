"""An encoder and a decoder: labels are a summary, shorter than what is read."""

from ftlab.faults.builders import Case, Healthy, batches, plain_case, t5


def build() -> Case:
    """Train on the last quarter of each row as its summary."""
    model = t5()
    rows = []
    for row in batches():
        kept = row["labels"].shape[1] // 4
        rows.append({**row, "labels": row["labels"][:, -kept:].contiguous()})
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "labels have another length than the ids",
    looks_like=("DAT002",),
    steps=24,
)
