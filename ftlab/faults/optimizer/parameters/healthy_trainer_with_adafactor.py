"""Full fine-tuning of a GPT-2 in a Trainer under Adafactor, with a constant schedule.

Accumulation without an even end: the last step of an epoch has fewer micro-batches.
"""

from ftlab.faults.builders import Case, Healthy, batches, gpt2, rows_of, trained


def build() -> Case:
    """Build full fine-tuning in a Trainer on eleven batches of two rows."""
    return trained(
        gpt2(tie_word_embeddings=True),
        rows=rows_of(batches(11, size=2)),
        optim="adafactor",
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=10,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=3,
        max_grad_norm=0.0,
    )


HEALTHY = Healthy(
    "no clipping, moments of another shape, head and embedding are one",
    looks_like=("OPT001", "OPT003", "OPT006", "GRD002"),
)
