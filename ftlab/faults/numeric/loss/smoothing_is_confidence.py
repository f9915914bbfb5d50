"""The share that a label is to keep is given as its smoothing.

``label_smoothing`` is what all classes share. With 0.9 the label itself has a tenth of
the target: the loss stays near that of guessing, and the model near an even softmax.

Fix: ``label_smoothing=0.1``.
Source: torch, `torch.nn.CrossEntropyLoss` ("0.0 means no smoothing").
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Smooth by 0.9 in place of 0.1."""
    model = lora()
    smoothing = 0.1 if fixed else 0.9

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits[:, :-1]
        return torch.nn.functional.cross_entropy(
            logits.flatten(0, 1),
            batch["labels"][:, 1:].flatten(),
            label_smoothing=smoothing,
        )

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss stays near that of guessing, and no token gets likely",
    code="NUM018",
    places=("config label_smoothing",),
    steps=4,
    families=("llama", "gpt2", "neox", "own"),
)
