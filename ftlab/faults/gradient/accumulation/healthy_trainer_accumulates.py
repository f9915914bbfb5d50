"""A Trainer as it comes gathers three micro-batches, the last of an epoch but two.

The model divides by the labels of the whole update (``num_items_in_batch``).
"""

from ftlab.faults.builders import Case, Healthy, batches, lora, rows_of, trained


def build() -> Case:
    """Build LoRA in a Trainer under SGD."""
    return trained(
        lora(),
        rows=rows_of(batches(8, size=2)),
        max_steps=30,
        optim="sgd",
        learning_rate=1.0,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=3,
    )


HEALTHY = Healthy(
    "no loss is divided by the number of micro-batches",
    looks_like=("GRD017", "GRD018"),
    steps=30,
)
