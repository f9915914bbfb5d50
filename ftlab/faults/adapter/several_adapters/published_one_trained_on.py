"""An evaluation compares with the published adapter, and training goes on with that.

``set_adapter`` makes it trainable and freezes the one that was trained. The optimizer
was given every tensor of both, so that all seems well: the loss falls, gradients are
there. The published adapter changes, and the new one stands still.

Fix: set the adapter back after the comparison; give the optimizer the new one alone.
Source: huggingface/peft#2759 (active and trainable are coupled).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, at, base, batches, loop_with, lora_config
from ftlab.faults.builders.saved import loaded, saved, taught

COMPARED = 3
"""The step before which the two are compared."""


def build(fixed: bool) -> Case:
    """Build a new adapter beside one that was loaded for use."""
    bare = base()
    model: Any = loaded(bare, saved(taught(), owner=bare))
    (published,) = model.peft_config
    model.add_adapter("newer", lora_config(bare))
    model.set_adapter("newer")
    model.train()
    both = [weight for name, weight in model.named_parameters() if ".lora_" in name]
    optimizer, made = torch.optim.AdamW(both, lr=1e-3, weight_decay=0.0), batches()

    def compare() -> None:
        model.set_adapter(published)
        with torch.no_grad():
            model(**made[0])
        if fixed:
            model.set_adapter("newer")

    return loop_with(model, optimizer, made, before=at(COMPARED, compare))


FAULT = Fault(
    "the published adapter changes, and the new one stands still",
    code="ADP008",
    places=("param *.lora_?.*",),
    steps=8,
    evident=COMPARED,
    families=("llama", "gpt2", "neox", "own"),
)
