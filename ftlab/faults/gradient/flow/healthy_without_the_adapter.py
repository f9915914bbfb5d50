"""The model without its adapter is the reference, within each step.

A KL term keeps the answers near it: ``disable_adapter()`` around a forward without
gradients. B is 0 at first, so the KL is exactly 0 there and has no gradient.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, lora, plain_case, token_loss


def build() -> Case:
    """Build LoRA whose loss has a KL to the base model."""
    model = lora()

    def loss_of(batch: Any) -> torch.Tensor:
        inputs = {"input_ids": batch["input_ids"]}
        with torch.no_grad(), model.disable_adapter():
            wanted = model(**inputs).logits.log_softmax(-1)
        logits = model(**inputs).logits
        shares = logits.log_softmax(-1)
        kl = torch.nn.functional.kl_div(
            shares, wanted, log_target=True, reduction="batchmean"
        )
        return token_loss(logits, batch) + 0.05 * kl

    return plain_case(model, lr=5e-3, loss_of=loss_of)


HEALTHY = Healthy(
    "each step has a forward in which the adapter is off",
    looks_like=("GRD003", "ADP001", "ADP003"),
)
