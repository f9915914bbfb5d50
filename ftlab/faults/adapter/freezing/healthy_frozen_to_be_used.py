"""All parameters are frozen for each look at the model, and when training is over.

So do helpers that make a model ready for use: evaluation mode, nothing requires a
gradient. After the last look in the middle the adapter is made trainable again.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, current, lora
from ftlab.faults.builders.around import at, loop_with

LOOKED_AT = 8
"""The step before which the model is used."""


def build() -> Case:
    """Build LoRA and train it, with a look at it on the way."""
    model, own = lora(), current().adapter
    optimizer, made = adamw(model), batches()

    def use() -> None:
        model.eval().requires_grad_(False)
        for batch in made:
            model(**batch)

    def interrupt() -> None:
        use()
        model.train()
        model.set_adapter(own)

    return loop_with(
        model, optimizer, made, before=at(LOOKED_AT, interrupt), afterwards=use
    )


HEALTHY = Healthy(
    "nothing is trainable for a moment, and after the last step",
    looks_like=("ADP010", "OPT002", "GRD003"),
    steps=40,
)
