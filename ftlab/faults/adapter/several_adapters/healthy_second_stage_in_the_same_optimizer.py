"""Two stages in one run: the first adapter is added to the base by hand, and unloaded.

The second stage has an adapter of its own; the optimizer stays, with new groups.
"""

from collections.abc import Iterator
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, at, loop_with
from ftlab.faults.builders.tiny import adamw, batches, lora, lora_config, trainable

STAGE = 30
"""Steps of the first stage."""


class Staged(torch.nn.Module):
    """The model of all stages: what is trained is exchanged within it."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, **batch: Any) -> Any:
        """Call the model of this stage."""
        return self.inner(**batch)


def build() -> Case:
    """Build a loop that begins a second stage after a while."""
    staged = Staged(lora())
    optimizer = adamw(staged, lr=5e-3)

    def turn() -> None:
        staged.inner = second_stage(staged.inner)
        optimizer.state.clear()
        optimizer.param_groups.clear()
        optimizer.add_param_group({"params": trainable(staged)})

    return loop_with(staged, optimizer, batches(), before=at(STAGE, turn))


def second_stage(model: Any) -> Any:
    """Add what was learned to the base, and put a fresh adapter on it."""
    from peft import get_peft_model

    learned = dict(deltas(model))
    base = model.unload()
    with torch.no_grad():
        for name, delta in learned.items():
            base.get_submodule(name).weight += delta
    return get_peft_model(base, lora_config(base), adapter_name="second")


def deltas(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Give what each layer's adapters add to its weight."""
    for name, module in model.get_base_model().named_modules():
        for adapter in getattr(module, "lora_A", ()):
            yield name, module.get_delta_weight(adapter).detach()


HEALTHY = Healthy(
    "an adapter runs that the optimizer holds no more, and the base has changed",
    looks_like=("ADP008", "OPT001", "ADP007"),
    steps=60,
)
