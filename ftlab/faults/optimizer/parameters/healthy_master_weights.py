"""Weights in bf16, and copies of them in float32 that the optimizer steps.

No parameter of the model is in the optimizer. Gradients are handed over to the copies,
and what they have become is rounded back; at a small learning rate most stored weights
change only now and then.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, llama, trainable


def build() -> Case:
    """Build full fine-tuning of a model in bf16."""
    model = llama().to(torch.bfloat16)
    weights: list[Any] = trainable(model)
    masters = [weight.detach().float().requires_grad_() for weight in weights]
    optimizer = torch.optim.AdamW(masters, lr=1e-3)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        for master, weight in zip(masters, weights, strict=True):
            master.grad = weight.grad.float()
            weight.grad = None
        optimizer.step()
        with torch.no_grad():
            for master, weight in zip(masters, weights, strict=True):
                weight.copy_(master)
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "the optimizer holds none of the model's parameters",
    looks_like=("OPT001", "OPT002", "NUM002", "GRD003"),
)
