"""A loss is masked by hand, and divided by how many tokens count; one term is weighted.

The second term multiplies each token by a weight between a half and one, and takes the
mean over all: no weight is 0, and none is masked.
"""

import torch
from torch.nn.functional import cross_entropy

from ftlab.faults.builders import Batch, Case, Healthy, lora, plain_case


def build() -> Case:
    """Train LoRA on the even tokens, and with growing weights on all."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(batch["input_ids"]).logits[:, :-1].transpose(1, 2)
        labels = batch["labels"][:, 1:]
        each = cross_entropy(logits, labels, reduction="none")
        mask = (labels % 2 == 0).float()
        weights = torch.linspace(0.5, 1.0, each.shape[1])
        return (each * mask).sum() / mask.sum() + 0.1 * (each * weights).mean()

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "a loss that is multiplied with a mask before it is summed",
    looks_like=("NUM027",),
)
