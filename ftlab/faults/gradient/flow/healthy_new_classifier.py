"""A classifier on a RoBERTa: a new head, and LoRA below it.

PEFT trains a copy of the head; the original one beside it has no gradient.
"""

from ftlab.faults.builders import Case, Healthy, batches, lora, plain_case
from ftlab.faults.builders.zoo import classes, roberta


def build() -> Case:
    """Build LoRA on a RoBERTa that classifies."""
    model = lora(roberta(), target_modules=["query", "value"], task_type="SEQ_CLS")
    return plain_case(model, lr=2e-3, rows=classes(batches()))


HEALTHY = Healthy(
    "the original head has no gradient, the copy of it learns",
    looks_like=("GRD003", "OPT002", "ADP001", "ADP020"),
)
