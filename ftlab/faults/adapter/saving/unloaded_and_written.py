"""The adapter is taken off with ``unload()``, and the state dict is written by hand.

``unload`` gives back the base model as it was before training. The file has every key
that it should have, and nothing of what was learnt.

Fix: ``torch.save(model.merge_and_unload().state_dict(), file)``.
Source: seed; PEFT's own note on ``unload``.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that exports its model when it is over."""
    model: Any = lora()
    path = folder(model)

    def save() -> None:
        bare = model.merge_and_unload() if fixed else model.unload()
        torch.save(bare.state_dict(), path / "model.pt")

    return plain_case(model, lr=1e-2, afterwards=save)


FAULT = Fault(
    "the exported weights are those of the base model",
    code="ADP020",
    places=("call unload",),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox"),
)
