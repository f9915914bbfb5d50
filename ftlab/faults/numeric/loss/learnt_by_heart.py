"""A few samples are shown again and again, and the evaluation gets worse.

The training loss goes to 0 while the evaluation loss rises from its lowest point on:
the model learns these samples by heart, and nothing that holds for others. The twin has
samples enough for the rule behind them.

Fix: stop at the turn (``load_best_model_at_end=True``), fewer epochs, more samples.
Source: github.com/Mormolykos/trainproof, examples/gallery/overfit
"""

import torch

from ftlab.faults.builders import Case, Fault, current, trained
from ftlab.faults.builders.tiny import VOCABULARY, Batch, batches, llama, rows_of


def build(fixed: bool) -> Case:
    """Train on 8 samples without a rule, or on 256 that have one."""
    few, others = noise(0), noise(1)
    rows = rows_of(batches(64)) if fixed else few
    held_out = rows_of(batches(2, seed=3)) if fixed else others
    return trained(
        llama(),
        rows=rows,
        max_steps=40,
        learning_rate=3e-3,
        lr_scheduler_type="constant",
        eval_strategy="steps",
        eval_steps=4,
        trainer={"eval_dataset": held_out},
    )


def noise(seed: int) -> list[Batch]:
    """Draw 8 samples of words that follow no rule."""
    dice = torch.Generator().manual_seed(seed + 1000 * current().seed)
    ids = torch.randint(3, VOCABULARY, (8, 16), generator=dice)
    return [{"input_ids": row, "labels": row.clone()} for row in ids]


FAULT = Fault(
    "training loss falls to nothing, evaluation loss rises",
    code="NUM025",
    places=("object eval_loss",),
    steps=40,
    evident=31,  # by evaluations every 4 steps: 23 to 31 over 5 seeds
)
