"""A second adapter is made active to look at it: once on the way, and in the end.

It is run with a graph, as nobody said ``no_grad``. While it is active it is trainable,
the one that learns is frozen, and the optimizer holds nothing of it.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, current, lora
from ftlab.faults.builders.around import at, loop_with

LOOKED_AT = 8
"""The step before which the second adapter is looked at."""


def build() -> Case:
    """Build two adapters and train the first one."""
    model, own = lora(), current().adapter
    model.add_adapter("other", model.peft_config[own])
    optimizer, made = adamw(model), batches()

    def look() -> None:
        model.set_adapter("other")
        for batch in made:
            model(**batch)

    def interrupt() -> None:
        look()
        model.set_adapter(own)

    return loop_with(
        model, optimizer, made, before=at(LOOKED_AT, interrupt), afterwards=look
    )


HEALTHY = Healthy(
    "an adapter that is not trained is active for a moment, and after the last step",
    looks_like=("OPT002", "OPT001", "ADP008", "ADP010"),
    steps=40,
)
