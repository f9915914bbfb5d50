"""Embeddings are computed once per batch, kept, and used again in later epochs.

The copies are detached, as what is kept has to be: its graph is gone. From the second
epoch on the embedding, which is to be trained, gets no gradient; the loss falls on.

Fix: compute in each step what is to be trained, and keep only what is frozen.
Source: seed.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, batches, plain_case, token_loss


def build(fixed: bool) -> Case:
    """Build a full fine-tune that keeps its embeddings."""
    model = base()
    for weight in model.parameters():
        weight.requires_grad_(True)
    kept: dict[int, torch.Tensor] = {}

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        vectors = kept.get(id(batch))
        if vectors is None:
            vectors = model.get_input_embeddings()(ids)
            if not fixed:
                kept[id(batch)] = vectors.detach()
        return token_loss(model(inputs_embeds=vectors).logits, batch)

    made = batches(10)
    return plain_case(model, rows=made, loss_of=loss_of)


FAULT = Fault(
    "the loss falls, and the embedding stays as it was after the first epoch",
    code="GRD009",
    places=("param *embed*", "param *wte*"),
    steps=30,
    evident=25,
    families=("llama", "neox"),  # the head of GPT-2 is its embedding
)
