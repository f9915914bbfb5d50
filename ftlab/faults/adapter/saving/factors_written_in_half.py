"""The adapter is written by a filter that keeps one of its two factors.

``if "lora_A" in k`` leaves every B out. The file is there, it is loaded with
``strict=False``, and A alone adds nothing.

Fix: ``model.save_pretrained(folder)``, or ``if "lora_" in k``.
Source: seed; Lightning-AI/pytorch-lightning#19149 (such filters).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that writes a file of its own when it is over."""
    model: Any = lora()
    path = folder(model)
    wanted = "lora_" if fixed else "lora_A"

    def save() -> None:
        state = {k: v.cpu() for k, v in model.state_dict().items() if wanted in k}
        torch.save(state, path / "adapter.pt")

    return plain_case(model, lr=5e-3, afterwards=save)


FAULT = Fault(
    "the loaded adapter answers like the base model",
    code="ADP055",
    places=("file adapter.pt",),
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
