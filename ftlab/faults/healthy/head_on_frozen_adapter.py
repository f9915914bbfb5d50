"""A head is trained on a model whose adapter is done: loaded, and left frozen.

Nothing of the LoRA is trained, on purpose: it was loaded for use, and is not 0.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.loops import loss_step, plain_step
from ftlab.faults.tiny import adamw, base, batches, lora
from ftlab.faults.trainers import folder
from ftlab.faults.variation import current
from ftlab.faults.zoo import LABELS, classes


class Judge(nn.Module):
    """A head on the mean of what a frozen model answers."""

    def __init__(self, model: nn.Module, width: int) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(width, LABELS)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return the scores of each class."""
        with torch.no_grad():
            logits = self.model(input_ids=input_ids).logits
        return self.head(logits.mean(1))


def build() -> Case:
    """Build a head on a model with an adapter that was trained and saved before."""
    from peft import PeftModel

    torch.manual_seed(current().seed)
    model = lora()
    first = adamw(model, lr=1e-2)
    Case(model, first, batches(), plain_step(model, first)).run(10)
    path = folder(model)
    model.save_pretrained(path)
    inner = path if current().adapter == "default" else path / current().adapter
    loaded = PeftModel.from_pretrained(base(), inner)
    judge = Judge(loaded, loaded.config.vocab_size)
    optimizer = adamw(judge, lr=1e-2)

    def loss_of(batch: Any) -> torch.Tensor:
        scores = judge(batch["input_ids"])
        return nn.functional.cross_entropy(scores, batch["labels"])

    step = loss_step(loss_of, optimizer)
    return Case(judge, optimizer, classes(batches()), step, adapter=inner)


HEALTHY = Healthy(
    "head-on-frozen-adapter",
    "the model has a LoRA, and nothing of it is trained",
    looks_like=("GRD003", "ADP001"),
    builder=build,
)
