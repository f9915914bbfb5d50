"""A callback clips what the Trainer clips as well, to another limit.

The Trainer clips to ``max_grad_norm``, the callback right after it to its own: the
smaller one holds, and changing the larger has no effect.

Fix: set ``max_grad_norm``, and leave the callback out.
Source: transformers, ``Trainer``: it clips, then calls ``on_pre_optimizer_step``.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, trainable, trained


def build(fixed: bool) -> Case:
    """Build LoRA in a Trainer with a callback that clips."""
    from transformers import TrainerCallback

    class Clipping(TrainerCallback):
        """Clips before each step of the optimizer."""

        def on_pre_optimizer_step(self, *_: Any, model: Any, **__: Any) -> None:
            torch.nn.utils.clip_grad_norm_(trainable(model), 0.01)

    further = {} if fixed else {"trainer": {"callbacks": [Clipping()]}}
    return trained(lora(), max_steps=5, max_grad_norm=0.05, **further)


FAULT = Fault(
    "whatever max_grad_norm is set to, nothing changes",
    code="GRD013",
    places=("call clip_grad_norm_",),
    steps=5,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
