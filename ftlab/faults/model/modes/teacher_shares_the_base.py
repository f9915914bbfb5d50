"""The adapter's dropout never works: a teacher that shares its modules switches it off.

The loop calls ``model.train()`` in each step. Then the model without its adapter
answers as the teacher, in evaluation mode, as it should; the adapter's layers are in
the same modules, and nobody switches them on again.

Fix: call ``model.train()`` after the teacher's pass, just before the forward.
Source: seed; ``get_base_model()`` returns the model that the adapter is in.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, token_loss

SHARE = 0.5
"""How much the teacher counts."""


def build(fixed: bool) -> Case:
    """Build a distillation from the model without its adapter."""
    model = lora(lora_dropout=0.2)
    optimizer = adamw(model)

    def wanted(ids: torch.Tensor) -> torch.Tensor:
        teacher = model.get_base_model().eval()
        with torch.no_grad(), model.disable_adapter():
            return teacher(input_ids=ids).logits.softmax(-1)

    def step(batch: Any) -> float:
        model.train()
        target = wanted(batch["input_ids"])
        if fixed:
            model.train()
        optimizer.zero_grad()
        logits = model(input_ids=batch["input_ids"]).logits
        apart = torch.nn.functional.cross_entropy(logits.mT, target.mT)
        loss = token_loss(logits, batch) + SHARE * apart
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "dropout is configured, asked for in each step, and does nothing",
    code="MOD006",
    places=("module base_model*",),
    steps=8,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
