"""A Trainer with an optimizer handed over that has what its arguments ask for.

One group of it has a rate of its own. There is a warm-up, evaluations come after a
delay, early stopping waits for fewer than come, and bfloat16 is for evaluations alone.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, rows_of, trained

RATE, DECAY, BETA = 5e-3, 0.1, 0.95


def build() -> Case:
    """Build a Trainer all of whose arguments have an effect."""
    from transformers import EarlyStoppingCallback

    model = lora()
    trainable = [each for each in model.parameters() if each.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": trainable[:2], "lr": 2 * RATE, "weight_decay": 0.0},
        {"params": trainable[2:]},
    ]
    asked: dict[str, Any] = {"lr": RATE, "weight_decay": DECAY, "betas": (0.9, BETA)}
    further = {
        "optimizers": (torch.optim.AdamW(groups, **asked), None),
        "eval_dataset": rows_of(batches(2, seed=3)),
        "callbacks": [EarlyStoppingCallback(5)],
    }
    return trained(
        model,
        learning_rate=RATE,
        weight_decay=DECAY,
        adam_beta2=BETA,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=2,
        max_steps=20,
        eval_strategy="steps",
        eval_steps=2,
        eval_delay=4,
        metric_for_best_model="loss",
        bf16_full_eval=True,
        trainer=further,
    )


HEALTHY = Healthy(
    "an optimizer handed over is made of the arguments",
    looks_like=("ENV001", "ENV002", "ENV003", "ENV006"),
    steps=20,
)
