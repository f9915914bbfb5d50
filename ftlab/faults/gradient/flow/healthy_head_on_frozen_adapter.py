"""A head is trained on a model whose adapter is done: loaded, and left frozen.

Nothing of the LoRA is trained, on purpose: it was loaded for use, and is not 0.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.faults.builders.tiny import VOCABULARY, base, batches
from ftlab.faults.builders.zoo import LABELS, classes


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
    torch.manual_seed(current().seed)
    model = base()
    path = saved(taught(), owner=model)
    ready = loaded(model, path)
    judge = Judge(ready, VOCABULARY)

    def loss_of(batch: Any) -> torch.Tensor:
        scores = judge(batch["input_ids"])
        return nn.functional.cross_entropy(scores, batch["labels"])

    return plain_case(
        judge, lr=1e-2, rows=classes(batches()), loss_of=loss_of, adapter=path
    )


HEALTHY = Healthy(
    "the model has a LoRA, and nothing of it is trained",
    looks_like=("GRD003", "ADP001", "ADP010", "ADP028", "ADP021", "ADP026"),
)
