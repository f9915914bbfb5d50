"""A GPT-2 is given ids with a dimension of one too many, and puts them into rows."""

from ftlab.faults.builders import Case, Healthy, batches, gpt2, plain_case


def build() -> Case:
    """Put each row into a batch of its own."""
    model = gpt2()
    rows = [
        {name: value.unsqueeze(1) for name, value in batch.items()}
        for batch in batches()
    ]
    rows = [{name: each[name] for name in ("input_ids", "labels")} for each in rows]
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "ids have three dimensions, and the model makes two of them",
    looks_like=("DAT002",),
    steps=6,
)
