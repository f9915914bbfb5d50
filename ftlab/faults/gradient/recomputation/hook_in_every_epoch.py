"""A hook that adds noise to the embeddings is registered again at each epoch's begin.

``register_forward_hook`` adds one more each time. The noise is as wide as asked for in
the first epoch only; then it is added twice, three times, and each step takes longer.

Fix: register it once, or call ``handle.remove()`` when the epoch is over.
Source: torch, `torch/utils/hooks.py`: a `RemovableHandle` has an id of its own at each
registration.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, set_seed
from ftlab.faults.builders.loops import plain_step

WIDTH = 1e-3


def build(fixed: bool) -> Case:
    """Leave the hook of each epoch there, or take it off."""
    model = lora()
    optimizer, data = adamw(model), batches()
    made, step = torch.Generator(), plain_step(model, optimizer)
    set_seed(5)
    embedding = next(m for m in model.modules() if isinstance(m, torch.nn.Embedding))
    handles: list[Any] = []
    done = 0

    def noise(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        drawn = torch.randn(output.shape, generator=made).to(output.dtype)
        return output + WIDTH * drawn

    def one(batch: Any) -> float:
        nonlocal done
        if done % len(data) == 0:
            if fixed and handles:
                handles.pop().remove()
            handles.append(embedding.register_forward_hook(noise))
        done += 1
        return step(batch)

    return Case(model, optimizer, data, one)


FAULT = Fault(
    "noise on the embeddings grows with each epoch",
    code="GRD010",
    places=("module *embed*", "module *wte*", "module *words*"),
    steps=20,
    evident=16,
    families=("llama", "gpt2", "neox", "own"),
)
