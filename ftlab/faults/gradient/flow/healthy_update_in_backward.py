"""Each parameter is updated as soon as its gradient is there, within backward.

There is one optimizer per parameter, and the gradient is dropped at once, which saves
the memory of all gradients: at no time can all of them be seen.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, llama, trainable


def build() -> Case:
    """Build full fine-tuning with one AdamW per parameter."""
    model = llama()
    owners = {p: torch.optim.AdamW([p], lr=1e-3) for p in trainable(model)}

    def update(weight: Any) -> None:
        owners[weight].step()
        owners[weight].zero_grad()

    for weight in owners:
        weight.register_post_accumulate_grad_hook(update)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        return float(loss.detach())

    return Case(model, list(owners.values()), batches(), step)


HEALTHY = Healthy(
    "no parameter has a gradient when backward is over",
    looks_like=("GRD003", "OPT002", "GRD001"),
)
