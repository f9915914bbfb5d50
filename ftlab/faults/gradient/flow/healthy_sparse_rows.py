"""An embedding with sparse gradients, under SparseAdam; the rest under AdamW."""

import torch
from torch import nn

from ftlab.faults.builders import VOCABULARY, Case, Healthy, batches, current, own
from ftlab.faults.builders.around import updated_by


def build() -> Case:
    """Build a model of one's own whose embedding asks for sparse gradients."""
    model = own()
    torch.manual_seed(current().seed)
    model.words = nn.Embedding(VOCABULARY, current().width, sparse=True)
    rest = [p for name, p in model.named_parameters() if name != "words.weight"]
    both = [
        torch.optim.SparseAdam(model.words.parameters(), lr=1e-3),
        torch.optim.AdamW(rest, lr=1e-3),
    ]

    def update() -> None:
        for optimizer in both:
            optimizer.step()

    return updated_by(update, model, both, clears=model, rows=batches(length=6))


HEALTHY = Healthy(
    "the gradient of the embedding is a sparse tensor",
    looks_like=("GRD003", "OPT002", "GRD001"),
)
