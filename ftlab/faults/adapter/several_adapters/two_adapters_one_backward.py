"""Two adapters run one after the other, and one backward follows both.

The second ``set_adapter`` freezes the first adapter before backward: its gradient is
dropped, without a message.

Fix: call backward for each before the next set_adapter, or make both active.
Source: huggingface/transformers#32084.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, current, lora


def build(fixed: bool) -> Case:
    """Build two adapters whose losses are added."""
    model, own = lora(), current().adapter
    other = f"{own}_2"
    model.add_adapter(other, model.peft_config[own])
    weights = [p for n, p in model.named_parameters() if "lora_" in n]
    optimizer = torch.optim.AdamW(weights, lr=1e-2, weight_decay=0.0)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        losses = []
        for adapter in (own, other):
            model.set_adapter(adapter)
            losses.append(model(**batch).loss)
            if fixed:
                losses[-1].backward()
        total = torch.stack(losses).sum()
        if not fixed:
            total.backward()
        optimizer.step()
        return float(total.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "one of two adapters learns nothing",
    code="ADP008",
    places=("param *lora_*", "call set_adapter"),
    steps=8,
    families=("llama", "gpt2", "neox", "own"),
)
