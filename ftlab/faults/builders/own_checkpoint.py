"""A checkpoint written by hand: an autograd function that runs a block again."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Run = Callable[[torch.Tensor], torch.Tensor]


class Again(torch.autograd.Function):
    """Keeps a block's input only, and computes its output once more in backward."""

    @staticmethod
    def forward(
        ctx: Any, run: Run, restore: bool, hidden: torch.Tensor, *weights: torch.Tensor
    ) -> torch.Tensor:
        """Run without a graph."""
        on = torch.is_autocast_enabled(hidden.device.type)
        ctx.run, ctx.weights, ctx.on = run, weights, on if restore else None
        ctx.save_for_backward(hidden)
        with torch.no_grad():
            return run(hidden)

    @staticmethod
    def backward(ctx: Any, *received: torch.Tensor) -> Any:
        """Run with a graph, and go back through it."""
        (hidden,) = ctx.saved_tensors
        hidden = hidden.detach().requires_grad_()
        kind = hidden.device.type
        now = torch.is_autocast_enabled(kind)
        on = now if ctx.on is None else ctx.on
        with torch.enable_grad(), torch.autocast(kind, torch.bfloat16, enabled=on):
            made = ctx.run(hidden.view_as(hidden))
        wanted = (hidden, *ctx.weights)
        found = torch.autograd.grad(made, wanted, received, allow_unused=True)
        return None, None, *found


class RunAgain(nn.Module):
    """A block that is computed again in backward.

    Parameters
    ----------
    restore
        Whether autocast is in backward what it was in forward.
    """

    def __init__(self, block: nn.Module, *, restore: bool) -> None:
        super().__init__()
        self.block = block
        self.restore = restore

    def forward(self, hidden: torch.Tensor, *inputs: Any, **settings: Any) -> Any:
        """Run the block as a checkpoint of one's own."""
        weights = [p for p in self.block.parameters() if p.requires_grad]

        def run(hidden: torch.Tensor) -> torch.Tensor:
            return self.block(hidden, *inputs, **settings)

        return Again.apply(run, self.restore, hidden, *weights)


def run_again(blocks: nn.ModuleList, *, restore: bool) -> None:
    """Put each block into a `RunAgain`."""
    for index, block in enumerate(list(blocks)):
        blocks[index] = RunAgain(block, restore=restore)
