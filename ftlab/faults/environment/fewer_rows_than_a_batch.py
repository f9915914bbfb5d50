"""The last batch is dropped, and it is the only one: nothing is trained.

``dataloader_drop_last=True`` with fewer rows than a batch leaves an epoch of none.
``train()`` returns after 0 steps, with a line in the log.

Fix: ``dataloader_drop_last=False``, or a smaller batch.
Source: RUC-GSAI/YuLan-IR#5 (stopped at step 0: fewer rows than a batch).
"""

from ftlab.faults.builders import Case, Fault, batches, lora, rows_of, trained


def build(fixed: bool) -> Case:
    """Build a Trainer with three rows and batches of eight."""
    return trained(
        lora(),
        rows=rows_of(batches(1))[:3],
        per_device_train_batch_size=8,
        dataloader_drop_last=not fixed,
        max_steps=4,
    )


FAULT = Fault(
    "training is over at once, and the model is what it was",
    code="ENV004",
    places=("config dataloader_drop_last",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
