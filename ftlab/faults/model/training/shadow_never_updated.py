"""A shadow copy of the weights is never updated, and is put in at each checkpoint.

``ema.update()`` is called nowhere. What is put in before each checkpoint, and trained
on with, are the weights that the run began with.

Fix: call ``ema.update()`` after each step, and put the weights back after saving.
Source: MultimediaTechLab/YOLO#97.
"""

from ftlab.faults.builders import Case, Fault, adamw, base, batches, loop_with
from ftlab.faults.builders.copies import copied, drawn_to, put

EVERY = 6


def build(fixed: bool) -> Case:
    """Train all weights, with a shadow."""
    model = base()
    optimizer = adamw(model)
    shadow = copied(model)

    def save() -> None:
        kept = copied(model)
        put(model, shadow)
        if fixed:
            put(model, kept)

    def after(done: int) -> None:
        if fixed:
            drawn_to(shadow, model, 0.1)
        if done % EVERY == EVERY - 1:
            save()

    return loop_with(model, optimizer, batches(), after=after)


FAULT = Fault(
    "the model that is saved is the one that training began with",
    code="MOD012",
    places=("call copy_",),
    steps=40,
    evident=24,
    families=("llama", "gpt2", "neox", "own"),
)
