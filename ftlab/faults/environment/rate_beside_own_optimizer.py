"""A Trainer gets an optimizer, and a learning rate that nothing reads.

With ``optimizers=(optimizer, None)`` the arguments' ``learning_rate`` and
``weight_decay`` are left alone: a sweep over them trains the same run each time.

Fix: make the optimizer with ``lr=args.learning_rate``.
Source: huggingface/transformers#4520 (handing over an optimizer).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, trained

RATE, DECAY = 5e-3, 0.1


def build(fixed: bool) -> Case:
    """Build a Trainer that is handed an AdamW."""
    model = lora()
    given: dict[str, Any] = (
        {"lr": RATE, "weight_decay": DECAY} if fixed else {"lr": 1e-4}
    )
    trainable = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trainable, **given)
    further = {"optimizers": (optimizer, None)}
    asked = {"learning_rate": RATE, "weight_decay": DECAY}
    return trained(model, max_steps=8, trainer=further, **asked)


FAULT = Fault(
    "every learning rate of a sweep gives the same loss curve",
    code="ENV002",
    places=("config learning_rate",),
    steps=8,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
