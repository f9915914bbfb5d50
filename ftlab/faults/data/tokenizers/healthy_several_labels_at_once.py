"""A classifier of texts that may have several labels, or none: they are floats.

The ids are int32, as some datasets store them, and the mask is one of truth values.
"""

import torch

from ftlab.faults.builders import Case, Healthy, batches, plain_case
from ftlab.faults.builders.zoo import LABELS, roberta


def build() -> Case:
    """Tell which thirds of the vocabulary a row's first tokens are in."""
    model = roberta(problem_type="multi_label_classification")
    rows = []
    for row in batches():
        ids = row["input_ids"]
        first = ids[:, :3] % (LABELS + 1)
        labels = torch.zeros(len(ids), LABELS + 1).scatter_(1, first, 1.0)
        mask = torch.ones_like(ids, dtype=torch.bool)
        rows.append(
            {"input_ids": ids.int(), "attention_mask": mask, "labels": labels[:, 1:]}
        )
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "labels are floats, ids int32",
    looks_like=("DAT002",),
    steps=24,
)
