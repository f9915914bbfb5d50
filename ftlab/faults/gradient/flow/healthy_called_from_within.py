"""LoRA in a loop that calls the base model's parts and never the PeftModel.

The adapters stand in the layers, so all of them run: a loss of one's own on the hidden
states is often written this way.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, lora, plain_case, token_loss


def build() -> Case:
    """Build LoRA whose trunk and head are called one after the other."""
    model = lora()
    inner = model.get_base_model()

    def loss_of(batch: Any) -> torch.Tensor:
        hidden = inner.model(input_ids=batch["input_ids"]).last_hidden_state
        return token_loss(inner.lm_head(hidden), batch)

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "the model that is watched is never called itself",
    looks_like=("GRD003", "ADP001", "NUM003"),
    steps=60,
)
