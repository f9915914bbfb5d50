"""The slow copy of a network is given the tensors of the fast one, not their values.

``load_state_dict(..., assign=True)`` puts the very memory of the one into the other:
each update of the trained network moves its target, and the two never differ.

Fix: ``load_state_dict`` without ``assign=True``, or ``copy.deepcopy``.
Source: class of pytorch/pytorch#34765 and pytorch/tutorials#188; seed.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, plain_case


class Pair(torch.nn.Module):
    """A network that is trained, and one that it is compared with."""

    def __init__(self, *, assign: bool) -> None:
        super().__init__()
        self.fast = base()
        self.slow = base(seed=1)
        self.slow.load_state_dict(self.fast.state_dict(), assign=assign)
        self.slow.requires_grad_(False)

    def forward(self, batch: Any) -> torch.Tensor:
        """Return the loss, and how far the two are apart."""
        output = self.fast(**batch)
        with torch.no_grad():
            target = self.slow(**batch).logits
        apart = torch.nn.functional.mse_loss(output.logits, target)
        return output.loss + apart


def build(fixed: bool) -> Case:
    """Train a model that shall stay near what it was."""
    model = Pair(assign=not fixed)
    return plain_case(model, loss_of=model)


FAULT = Fault(
    "the distance to the reference is always 0",
    code="ADP050",
    places=("param slow.*",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
