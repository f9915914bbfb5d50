"""The reference is the model without its adapter, and PiSSA has changed that.

``init_lora_weights="pissa"`` moves the principal part of each weight into the adapter.
With the adapter off the residual runs, and a KL term or DPO pulls towards that.

Fix: take the reference from an untouched copy, or use the default initialisation.
Source: huggingface/transformers#34468, huggingface/peft#1626, #2270, #1929.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.tiny import adamw, batches, lora, token_loss
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build LoRA whose loss has a KL to the model without it."""
    model = lora() if fixed else lora(init_lora_weights="pissa")
    optimizer = adamw(model)

    def loss_of(batch: Any) -> torch.Tensor:
        inputs = {"input_ids": batch["input_ids"]}
        with torch.no_grad(), model.disable_adapter():
            wanted = model(**inputs).logits.log_softmax(-1)
        logits = model(**inputs).logits
        kl = torch.nn.functional.kl_div(
            logits.log_softmax(-1), wanted, log_target=True, reduction="batchmean"
        )
        return token_loss(logits, batch) + 0.05 * kl

    return Case(model, optimizer, batches(), loss_step(loss_of, optimizer))


FAULT = Fault(
    "pissa-reference",
    "the KL to the base model is large from the first step on",
    code="ADP031",
    places=("param *.base_layer.weight",),
    steps=6,
    families=("llama", "neox", "own"),
    builder=build,
)
