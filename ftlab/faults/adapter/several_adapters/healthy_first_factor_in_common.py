"""Two adapters for two tasks, with one A for both and a B of its own for each.

B1 A and B2 A: what the tasks have in common is in A, which one tensor holds.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora


def build() -> Case:
    """Train both adapters in each step, one after the other."""
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    for module in model.modules():
        if "second" in getattr(module, "lora_A", {}):
            module.lora_A["second"].weight = module.lora_A["default"].weight
    weights = [p for name, p in model.named_parameters() if "lora_" in name]
    optimizer = torch.optim.AdamW(weights, lr=1e-3, weight_decay=0.0)
    tasks = {"default": batches(), "second": batches(seed=1)}

    def step(index: Any) -> float:
        optimizer.zero_grad()
        losses = []
        for adapter, made in tasks.items():
            model.set_adapter(adapter)
            losses.append(model(**made[index]).loss)
            losses[-1].backward()
        optimizer.step()
        return float(sum(loss.detach() for loss in losses))

    return Case(model, optimizer, list(range(len(batches()))), step)


HEALTHY = Healthy(
    "two adapters share a tensor",
    looks_like=("ADP050", "ADP008", "ADP007"),
)
