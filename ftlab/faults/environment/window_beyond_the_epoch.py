"""More batches shall be accumulated than an epoch has: updates are smaller than asked.

Gradients are gathered within an epoch alone. Each update is made of all rows there are,
and an epoch is one update.

Fix: ``gradient_accumulation_steps`` no larger than the batches of an epoch.
Source: transformers, Trainer.set_initial_training_values.
"""

from ftlab.faults.builders import Case, Fault, batches, lora, rows_of, trained


def build(fixed: bool) -> Case:
    """Build a Trainer with an epoch of four batches."""
    return trained(
        lora(),
        rows=rows_of(batches(4)),
        gradient_accumulation_steps=4 if fixed else 64,
        max_steps=-1,
        num_train_epochs=4,
    )


FAULT = Fault(
    "three epochs make three updates, each of far fewer rows than asked for",
    code="ENV004",
    places=("config gradient_accumulation_steps",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
