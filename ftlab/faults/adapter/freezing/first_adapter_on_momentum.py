"""One optimizer holds two adapters, and the one that is done goes on moving.

Gradients are set to 0 and not to None: when the second adapter is learned, the first
one still has a gradient, and Adam moves it by its momentum, and by weight decay.

Fix: ``optimizer.zero_grad()`` as it comes, or an optimizer for each adapter.
Source: huggingface/peft#1303 (two adapters, trained in turn); documentation of
``torch.optim.Optimizer.zero_grad``: a gradient of 0 is stepped with, None is not.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, current, lora

SWITCHED = 4
"""The step from which on the second adapter is learned."""


def build(fixed: bool) -> Case:
    """Train one adapter, then another, with one optimizer."""
    model = lora()
    own = current().adapter
    model.add_adapter(f"{own}_2", model.peft_config[own])
    both = [p for name, p in model.named_parameters() if "lora_" in name]
    optimizer = torch.optim.AdamW(both, lr=1e-2)

    def step(batch: Any) -> float:
        if len(case.losses) == SWITCHED:
            model.set_adapter(f"{own}_2")
        optimizer.zero_grad(set_to_none=fixed)
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


FAULT = Fault(
    "an adapter that is no longer trained is worse after another one was",
    code="ADP007",
    places=("param *lora_*", "optimizer param_groups"),
    steps=12,
    evident=SWITCHED + 1,
    families=("llama", "gpt2", "neox", "own"),
)
