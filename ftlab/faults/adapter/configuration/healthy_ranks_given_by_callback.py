"""AdaLoRA in a Trainer, with the callback that gives ranks away and accumulation."""

from ftlab.faults.adapter.configuration.ranks_kept_by_a_trainer import allocating
from ftlab.faults.builders import Case, Healthy, trained
from ftlab.faults.builders.methods import ranked

STEPS = 60


def build() -> Case:
    """Build a Trainer that accumulates over two micro-batches."""
    return trained(
        ranked(STEPS),
        max_steps=STEPS,
        learning_rate=5e-3,
        gradient_accumulation_steps=2,
        trainer={"callbacks": [allocating()]},
    )


HEALTHY = Healthy(
    "parts of the adapter become exactly 0 during training",
    looks_like=("ADP036", "ADP001", "ADP037"),
    steps=STEPS,
)
