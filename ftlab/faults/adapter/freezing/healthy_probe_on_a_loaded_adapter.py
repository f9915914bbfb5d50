"""A classifier's head is trained on top of an adapter that transformers has loaded.

The body is done: it stays in evaluation mode, and all of its adapter stays frozen.
"""

import torch

from ftlab.faults.builders import Case, Healthy, batches, classes, current, plain_case
from ftlab.faults.builders.heads import classifier
from ftlab.faults.builders.saved import saved, taught


def build() -> Case:
    """Build a classifier whose body was adapted before."""
    model = classifier()
    path = saved(taught(), owner=model)
    model.load_adapter(str(path), current().adapter)
    model.eval()
    torch.nn.init.normal_(model.score.weight, std=0.02)
    model.score.requires_grad_(True)
    return plain_case(model, lr=1e-2, rows=classes(batches()), adapter=path)


HEALTHY = Healthy(
    "the adapter of a transformers model is frozen, and its head learns",
    looks_like=("ADP010", "ADP001", "GRD003", "MOD006"),
)
