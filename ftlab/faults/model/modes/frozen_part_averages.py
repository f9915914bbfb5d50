"""A backbone is frozen, a new head is trained, and ``model.train()`` is for both.

No weight of the backbone moves. Its batch norms are in training mode, and their running
statistics follow the new pictures: in evaluation it gives other features than before.

Fix: ``model.resnet.eval()`` after each ``model.train()``.
Source: pytorch/pytorch#86590, lightly-ai/lightly#1438.
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_with, pictures
from ftlab.faults.builders.convolutions import residual


def build(fixed: bool) -> Case:
    """Build a ResNet of which the head is trained."""
    model = residual()
    model.resnet.requires_grad_(False)
    optimizer = adamw(model, lr=1e-2)

    def before(_: int) -> None:
        model.train()
        if fixed:
            model.resnet.eval()

    return loop_with(model, optimizer, pictures(), before=before)


FAULT = Fault(
    "only the head was trained, and the backbone answers otherwise",
    code="MOD023",
    places=("module *.normalization",),
    steps=8,
    evident=3,
)
