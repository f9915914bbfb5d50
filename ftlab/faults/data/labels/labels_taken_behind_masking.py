"""The masked model says ``[MASK]``, and its loss falls to 0 at once.

The loop masks words and then copies the ids as labels: the label of each masked word
is the mask.

Fix: ``labels = ids.clone()`` in front of the masking.

Source: transformers, ``DataCollatorForLanguageModeling.torch_mask_tokens``, which
copies them first.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, plain_case, roberta, seeded

MASK, SHARE = 2, 0.3


def build(fixed: bool) -> Case:
    """Mask words of a RoBERTa, and take the labels too late."""
    model = roberta(kind="MaskedLM")
    dice = seeded()

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        hidden = torch.rand(ids.shape, generator=dice) < SHARE
        masked = torch.where(hidden, MASK, ids)
        labels = torch.where(hidden, ids if fixed else masked, -100)
        mask = batch["attention_mask"]
        return model(input_ids=masked, attention_mask=mask, labels=labels).loss

    return plain_case(model, lr=1e-3, loss_of=loss_of)


FAULT = Fault(
    "the loss of the masked words falls to 0 at once",
    code="DAT025",
    places=("token * of sample *",),
    evident=-1,
)
