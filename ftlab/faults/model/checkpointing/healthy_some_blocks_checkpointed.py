"""Every second block is checkpointed, and one of the others has a patched forward.

Half of the blocks keep their activations on purpose.
"""

import functools
from typing import Any

from ftlab.faults.builders import Case, Healthy, lora, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base


def build() -> Case:
    """Put LoRA on a model of four blocks."""
    base = deep_base().train()
    way = {"use_reentrant": False}
    base.gradient_checkpointing_enable(way, every_n_layers=2)
    tower = blocks(base)
    old = tower[1].forward

    @functools.wraps(old)
    def forward(*inputs: Any, **settings: Any) -> Any:
        return old(*inputs, **settings)

    tower[1].forward = forward
    model = lora(base).train()
    return plain_case(model)


HEALTHY = Healthy(
    "blocks run once although checkpointing is on",
    looks_like=("MOD011",),
    needs=("transformers>=5.16",),
)
