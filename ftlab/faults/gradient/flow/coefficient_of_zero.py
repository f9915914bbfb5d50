"""The strength of a preference loss is ``1 // 10``: it is 0, and the loss log 2.

The scores of both answers are multiplied by it, whatever the model says of them; every
gradient is exactly 0. An empty setting, or a template that rounds, does the same.

Fix: ``beta = 1 / 10``.
Source: huggingface/trl#4023 shows what it looks like: 0.693 and no gradient.
"""

import torch
from torch.nn.functional import logsigmoid

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Prefer the even rows of each batch to the odd ones."""
    model = lora()
    beta = 1 / 10 if fixed else 1 // 10

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(batch["input_ids"]).logits[:, :-1].log_softmax(-1)
        labels = batch["labels"][:, 1:, None]
        scores = logits.gather(-1, labels).sum((1, 2))
        return -logsigmoid(beta * (scores[::2] - scores[1::2])).mean()

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss is 0.693 at every step",
    code="GRD003",
    places=("call loss.backward",),
    steps=10,
    evident=1,
    also=("ADP001", "NUM003"),
    families=("llama", "gpt2", "neox", "own"),
)
