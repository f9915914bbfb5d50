"""A run in stages, each of which puts hooks of its own beside those of the others.

One function makes a hook for each stage, which counts the forwards of that stage only;
another one asks again that the embedding's output requires a gradient, which it may do
many times. A third one is there for the length of each micro-batch.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora

STAGE = 4
"""Steps of a stage."""


class Hooks:
    """What is put on an embedding, and taken off it."""

    def __init__(self, embedding: torch.nn.Module) -> None:
        self.embedding = embedding
        self.stage = ""
        self.seen = Counter[str]()
        self.handles: list[Any] = []

    def begin(self, stage: str) -> None:
        """Add two hooks that stay."""
        self.stage = stage
        self.embedding.register_forward_hook(self.counting(stage))
        self.embedding.register_forward_hook(_in_the_graph)

    def counting(self, stage: str) -> Callable[..., None]:
        """Make a hook that works in one stage."""

        def count(*_: Any) -> None:
            self.seen[stage] += stage == self.stage

        return count

    def watch(self) -> None:
        """Add one for this micro-batch."""
        self.handles.append(self.embedding.register_forward_hook(_look))

    def end(self) -> None:
        """Take those of the micro-batches off."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def _in_the_graph(_: Any, __: Any, output: torch.Tensor) -> None:
    output.requires_grad_(True)


def _look(_: Any, __: Any, output: torch.Tensor) -> None:
    output.detach().abs().amax()


def build() -> Case:
    """Build LoRA with hooks for each stage and for each micro-batch."""
    model = lora()
    optimizer, hooks = adamw(model), Hooks(model.get_input_embeddings())
    done = 0

    def one(batch: Any) -> float:
        nonlocal done
        if done % STAGE == 0:
            hooks.begin(f"stage {done // STAGE}")
        done += 1
        optimizer.zero_grad()
        parts = min(done, len(batch["input_ids"]))  # more of them, step by step
        total = 0.0
        for part in range(parts):
            hooks.watch()
            micro = {name: values[part::parts] for name, values in batch.items()}
            loss = model(**micro).loss / parts
            loss.backward()
            total += float(loss.detach())
        optimizer.step()
        hooks.end()
        return total

    return Case(model, optimizer, batches(), one)


HEALTHY = Healthy(
    "the embedding has more hooks in each stage, each with work of its own",
    looks_like=("GRD010",),
    steps=36,
)
