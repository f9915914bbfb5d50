"""AdaLoRA in a Trainer: it trains, and no rank is ever given away.

A Trainer knows nothing of the rank allocator; it takes a callback to call it.

Fix: a ``TrainerCallback`` whose ``on_optimizer_step`` calls
``model.base_model.update_and_allocate(state.global_step)``.
Source: huggingface/peft#1327.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, trained
from ftlab.faults.builders.methods import ranked

STEPS = 24


def build(fixed: bool) -> Case:
    """Build a Trainer, with or without the callback."""
    model = ranked(STEPS)
    further = {"callbacks": [allocating()]} if fixed else {}
    return trained(model, max_steps=STEPS, learning_rate=5e-3, trainer=further)


def allocating() -> Any:
    """Make the callback that gives ranks away."""
    from transformers import TrainerCallback

    class Allocating(TrainerCallback):
        def on_optimizer_step(
            self, args: Any, state: Any, control: Any, **kwargs: Any
        ) -> None:
            kwargs["model"].base_model.update_and_allocate(state.global_step)

    return Allocating()


FAULT = Fault(
    "AdaLoRA ends with init_r ranks per layer, and rank_pattern is None",
    code="ADP036",
    places=("call update_and_allocate",),
    steps=STEPS,
    evident=6,
    families=("llama", "gpt2", "neox"),
)
