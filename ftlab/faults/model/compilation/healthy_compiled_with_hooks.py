"""A compiled model with a hook that was there before the first call.

The hook is in the graph; names of parameters begin with ``_orig_mod``.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_case, lora


def build() -> Case:
    """Build compiled LoRA with noise on its embeddings."""
    model = lora()

    def noise(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        return output * 1.01

    model.get_input_embeddings().register_forward_hook(noise)
    compiled: Any = torch.compile(model, backend="eager")
    made = batches()
    compiled(**made[0])
    optimizer = adamw(model, lr=2e-3)
    return loop_case(compiled, optimizer, made)


HEALTHY = Healthy(
    "hooks on modules that are never called",
    looks_like=("MOD005", "GRD003"),
)
