"""An infinite loss of a token is multiplied by a mask of 0.

Some tokens of the vocabulary are forbidden by -inf. Where the prompt is filled with one
of them its loss is infinite; the mask is to leave the prompt out, but 0 times infinity
is NaN, and so is the sum.

Fix: ``losses.masked_fill(~mask, 0)``, or select what counts before the sum.
Source: asked again and again of hand-written masked losses.
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case

FORBIDDEN, PROMPT = 0, 4


def build(fixed: bool) -> Case:
    """Mask by a product, or before it."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits[:, :-1]
        forbidden = torch.arange(logits.shape[-1]) == FORBIDDEN
        logits = logits.masked_fill(forbidden, -torch.inf)
        labels = batch["labels"][:, 1:].clone()
        labels[:, :PROMPT] = FORBIDDEN
        mask = labels != FORBIDDEN
        losses = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), labels, reduction="none"
        )
        kept = losses.masked_fill(~mask, 0.0) if fixed else losses * mask
        return kept.sum() / mask.sum()

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss is NaN although the mask leaves the bad tokens out",
    code="NUM001",
    places=("op cross_entropy", "op mul"),
    steps=4,
    families=("llama", "gpt2", "neox", "own"),
)
