"""A script's settings on a few rows: much of it is off, or left at its default.

The optimizer is handed over with a rate of its own, and the arguments name none. The
evaluation is switched off, its interval left standing; max_steps ends a short try; the
data has fewer batches than an update of the long run is made of.
"""

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, rows_of, trained

DEFAULT_RATE = 5e-5
"""The default of TrainingArguments: nobody has asked for it."""


def build() -> Case:
    """Build a Trainer that tries a script for some steps."""
    model = lora()
    trainable = [each for each in model.parameters() if each.requires_grad]
    return trained(
        model,
        rows=rows_of(batches(2)),
        learning_rate=DEFAULT_RATE,
        num_train_epochs=5,
        max_steps=12,
        gradient_accumulation_steps=16,
        eval_steps=100,
        save_total_limit=2,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        trainer={"optimizers": (torch.optim.AdamW(trainable, lr=1e-3), None)},
    )


HEALTHY = Healthy(
    "a short try of a longer run's settings",
    looks_like=("ENV001", "ENV002", "ENV003", "ENV004"),
    steps=12,
)
