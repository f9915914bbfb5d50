"""Evaluations on four rows, at a rate that makes them wobble.

The evaluation loss rises now and then, by chance, and goes on falling.
"""

from ftlab.faults.builders import Case, Healthy, batches, llama, rows_of, trained


def build() -> Case:
    """Train all of a model, evaluated every fourth step."""
    return trained(
        llama(),
        rows=rows_of(batches(64)),
        max_steps=48,
        learning_rate=5e-3,
        lr_scheduler_type="constant",
        eval_strategy="steps",
        eval_steps=4,
        trainer={"eval_dataset": rows_of(batches(1, seed=5))[:4]},
    )


HEALTHY = Healthy(
    "the evaluation loss rises from one evaluation to the next",
    looks_like=("NUM025", "NUM026"),
    steps=48,
)
