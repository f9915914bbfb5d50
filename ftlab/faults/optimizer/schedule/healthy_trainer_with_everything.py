"""A Trainer that accumulates, evaluates, smooths labels and makes checkpoints.

bf16 autocast, cosine with restarts, warm-up, gradient checkpointing, weight decay on
the adapter (a small one) and noise on the embeddings (NEFTune).
"""

from ftlab.faults.builders import Case, Healthy, batches, lora, rows_of, trained


def build() -> Case:
    """Build LoRA in a Trainer with many settings."""
    return trained(
        lora(target_modules="all-linear", lora_dropout=0.05),
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        bf16=True,
        lr_scheduler_type="cosine_with_restarts",
        lr_scheduler_kwargs={"num_cycles": 2},
        warmup_steps=20,
        weight_decay=0.01,
        label_smoothing_factor=0.1,
        neftune_noise_alpha=5,
        eval_strategy="steps",
        eval_steps=50,
        trainer={"eval_dataset": rows_of(batches(2, seed=77))},
    )


HEALTHY = Healthy(
    "two micro-batches, two forwards per layer, evaluations in between",
    looks_like=("OPT003", "GRD003", "ADP002", "NUM002"),
)
