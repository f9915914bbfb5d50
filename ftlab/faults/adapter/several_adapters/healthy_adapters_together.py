"""Two adapters run one after the other, and one backward trains both.

``set_adapter`` freezes the first one, and the loop makes it trainable again before
backward: the gradients of both arrive.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, current, lora


def build() -> Case:
    """Build two adapters whose losses are added."""
    model, own = lora(), current().adapter
    model.add_adapter("second", model.peft_config[own])
    weights = [p for n, p in model.named_parameters() if "lora_" in n]
    optimizer = torch.optim.AdamW(weights, lr=5e-3, weight_decay=0.0)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        losses = []
        for adapter in (own, "second"):
            model.set_adapter(adapter)
            losses.append(model(**batch).loss)
        for each in weights:
            each.requires_grad_(True)
        total = torch.stack(losses).mean()
        total.backward()
        optimizer.step()
        return float(total.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "the first adapter is not active any more when backward comes",
    looks_like=("ADP008", "OPT002", "GRD003"),
    steps=60,
)
