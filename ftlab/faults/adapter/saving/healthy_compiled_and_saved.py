"""A compiled model is saved through the model that was compiled.

Names of the compiled one begin with ``_orig_mod``; those in the file do not.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, folder, loop_case, lora


def build() -> Case:
    """Build a compiled LoRA whose adapter is saved in the end."""
    inner = lora(modules_to_save=["lm_head"])
    path = folder(inner)
    model: Any = torch.compile(inner, backend="eager")
    optimizer = adamw(inner, lr=2e-3)
    return loop_case(model, optimizer, afterwards=lambda: inner.save_pretrained(path))


HEALTHY = Healthy(
    "the trained model is in a wrapper, which is not what is saved",
    looks_like=("ADP020", "ADP021"),
)
