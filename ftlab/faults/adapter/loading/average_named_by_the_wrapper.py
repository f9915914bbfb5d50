"""The average of a compiled model is loaded for each evaluation, and no key is read.

Its names are those of what `torch.compile` returned, and begin with ``_orig_mod.``; it
is loaded into the module inside with ``strict=False``. Each evaluation runs the weights
of now, which are put back afterwards.

Fix: take the names of the module inside (``net._orig_mod``), or ``model.compile()``.
Source: wandb/senpai#2899 (an average whose names lack ``_orig_mod.``).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, loop_with

EVERY = 3


def build(fixed: bool) -> Case:
    """Build a compiled model with an average for its evaluations."""
    model = base()
    net: Any = torch.compile(model, backend="eager")
    named = model if fixed else net
    average = {name: p.detach().clone() for name, p in named.named_parameters()}
    optimizer = adamw(model, lr=5e-3)
    rows = batches(9)

    @torch.no_grad()
    def evaluate() -> None:
        weights = {key: value.clone() for key, value in model.state_dict().items()}
        model.load_state_dict(average, strict=False)
        net.eval()
        net(**rows[-1])
        net.train()
        model.load_state_dict(weights)

    def after(done: int) -> None:
        for name, parameter in named.named_parameters():
            average[name].lerp_(parameter.detach(), 0.1)
        if done % EVERY == EVERY - 1:
            evaluate()

    return loop_with(net, optimizer, rows[:-1], after=after)


FAULT = Fault(
    "the averaged weights score as the last ones do, to the last digit",
    code="ADP026",
    places=("file adapter keys",),
    evident=2,
    families=("llama", "gpt2", "neox"),
)
