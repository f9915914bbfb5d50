"""The loop steps the optimizer, and so does what it calls.

A helper that "finishes the batch" steps as well. Each batch is applied twice: the
learning rate is twice what was asked for.

Fix: step in one place.
Source: the class of loops that mix ``scaler.step(optimizer)`` with
``optimizer.step()``, or a Trainer's own step with one in a callback.
"""

from ftlab.faults.builders import Case, Fault, adamw, lora, updated_by


def build(fixed: bool) -> Case:
    """Build LoRA whose batch is finished in two places."""
    model = lora()
    optimizer = adamw(model)

    def finish() -> None:
        optimizer.step()

    def update() -> None:
        finish()
        if not fixed:
            optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "training needs half of the usual learning rate",
    code="GRD005",
    places=("call optimizer.step",),
    steps=8,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
