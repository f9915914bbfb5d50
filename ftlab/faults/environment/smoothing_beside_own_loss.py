"""Label smoothing is asked for beside a loss of one's own, which does not smooth.

The Trainer smooths in its own ``compute_loss``; with ``compute_loss_func`` it does not.
Losses and weights are those of a run without it.

Fix: smooth in the loss itself.
Source: transformers, Trainer.compute_loss.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, trained

SMOOTHING = 0.1


def build(fixed: bool) -> Case:
    """Build a Trainer with a loss of its own."""

    def loss(outputs: Any, labels: Any, **_: Any) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(
            outputs.logits[:, :-1].flatten(0, 1),
            labels[:, 1:].flatten(),
            label_smoothing=SMOOTHING if fixed else 0.0,
        )

    asked = {} if fixed else {"label_smoothing_factor": SMOOTHING}
    return trained(lora(), max_steps=8, trainer={"compute_loss_func": loss}, **asked)


FAULT = Fault(
    "label_smoothing_factor changes nothing",
    code="ENV001",
    places=("config label_smoothing_factor",),
    steps=8,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
