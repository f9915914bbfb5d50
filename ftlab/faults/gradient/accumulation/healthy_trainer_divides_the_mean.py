"""A Trainer with a loss of its own that is a mean, which the Trainer divides.

It was told that the loss is not divided yet. Three micro-batches make an update, and
the last of an epoch is made of two. Clipped at nearly every step, with SGD.
"""

from ftlab.faults.builders import Case, Healthy, batches, lora, rows_of, trained
from ftlab.faults.gradient.accumulation.mean_loss_in_a_trainer import averaging


def build() -> Case:
    """Build LoRA in a Trainer that divides by what it has gathered."""
    case = trained(
        lora(),
        kind=averaging(),
        rows=rows_of(batches(8, size=2)),
        max_steps=30,
        optim="sgd",
        learning_rate=1.0,
        max_grad_norm=0.05,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=3,
    )
    case.trainer.model_accepts_loss_kwargs = False
    return case


HEALTHY = Healthy(
    "compute_loss leaves num_items_in_batch aside, and updates differ in size",
    looks_like=("GRD017", "GRD011", "GRD015"),
    steps=30,
)
