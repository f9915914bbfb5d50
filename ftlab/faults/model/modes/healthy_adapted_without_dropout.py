"""LoRA is trained in evaluation mode on purpose, whatever its configuration says.

``model.eval()`` stands before the loop. Evaluations put back the mode that they found;
one of them, of a library, ends with ``train()``, and the loop undoes that.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_with, lora

EVERY = 8
"""Steps between two evaluations."""


def build() -> Case:
    """Build LoRA with a dropout that shall not be used."""
    model = lora(lora_dropout=0.05).eval()
    optimizer, made = adamw(model), batches()

    def before(done: int) -> None:
        if done % EVERY == EVERY - 1:
            with torch.no_grad():
                model(**made[0])
            model.train()
        model.eval()

    return loop_with(model, optimizer, made, before=before)


HEALTHY = Healthy(
    "the adapter's dropout is off for the whole run, whatever calls train()",
    looks_like=("MOD006",),
    steps=40,
)
