"""A compiled model that is unfrozen, switched and adapted while it is trained.

Dynamo looks at every parameter before it uses a graph, and makes new ones.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_case, lora


def build() -> Case:
    """Train one adapter of a compiled model, then another one."""
    model = lora()
    first = next(iter(model.peft_config))
    model.add_adapter("other", model.peft_config[first])
    compiled: Any = torch.compile(model, backend="eager")
    made = batches()
    with torch.no_grad(), model.disable_adapter():
        compiled(**made[0])
    compiled(**made[0])
    model.set_adapter("other")
    optimizer = adamw(model)
    return loop_case(compiled, optimizer, made)


HEALTHY = Healthy(
    "the adapter that is trained was switched on after compiling",
    looks_like=("GRD003", "MOD005", "ADP001"),
    steps=20,
)
