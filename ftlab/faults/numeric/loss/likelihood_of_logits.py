"""``nll_loss`` is given logits, which no softmax has normalised.

It only picks the label's entry and turns its sign. There is no competition between the
classes: the loss falls below 0 and on and on, and the model raises every logit.

Fix: ``cross_entropy``, or ``nll_loss(log_softmax(logits))``.
Source: torch, `torch.nn.NLLLoss` ("log-probabilities of each class").
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Leave the log-softmax out."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits[:, :-1]
        scores = logits.log_softmax(-1) if fixed else logits
        labels = batch["labels"][:, 1:]
        return torch.nn.functional.nll_loss(scores.transpose(1, 2), labels)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss falls below 0 and does not stop",
    code="NUM015",
    places=("op cross_entropy",),
    steps=4,
    families=("llama", "gpt2", "neox", "own"),
)
