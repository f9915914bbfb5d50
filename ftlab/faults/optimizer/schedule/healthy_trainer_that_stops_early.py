"""A Trainer that evaluates, keeps the best checkpoint, and loads it at the end.

When training is over the weights are those of an earlier step again.
"""

from ftlab.faults.builders import Case, Healthy, batches, lora, rows_of, trained


def build() -> Case:
    """Build LoRA in a Trainer that may stop when the evaluation gets worse."""
    from transformers import EarlyStoppingCallback

    return trained(
        lora(modules_to_save=["lm_head"]),
        lr_scheduler_type="reduce_lr_on_plateau",
        eval_strategy="steps",
        eval_steps=50,
        save_strategy="steps",
        save_steps=50,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        trainer={
            "eval_dataset": rows_of(batches(2, seed=77)),
            "callbacks": [EarlyStoppingCallback(early_stopping_patience=5)],
        },
    )


HEALTHY = Healthy(
    "the model is saved during training, and weights go back at the end",
    looks_like=("OPT003", "OPT001", "GRD003"),
)
