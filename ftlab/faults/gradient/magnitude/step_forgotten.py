"""Forward, backward, ``zero_grad``, and no ``optimizer.step()``.

The line was lost when the loop was rewritten; losses of different batches differ, and
their curve looks like the beginning of a training.

Fix: ``optimizer.step()`` after ``loss.backward()``.
Source: discuss.pytorch.org, loops that do not learn.
"""

from ftlab.faults.builders import Case, Fault, adamw, lora, updated_by


def build(fixed: bool) -> Case:
    """Leave the update out."""
    model = lora()
    optimizer = adamw(model)

    def update() -> None:
        if fixed:
            optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "losses that differ, and none that falls",
    code="GRD019",
    places=("call optimizer.step",),
    steps=10,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
