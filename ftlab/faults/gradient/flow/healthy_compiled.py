"""A compiled model: the loop calls what `torch.compile` returned.

Modules inside are not called any more as the compiled graph runs in their place; names
of its parameters begin with ``_orig_mod``.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA, compiled into one graph that is run as it is."""
    model: Any = torch.compile(lora(), backend="aot_eager")
    return plain_case(model, lr=2e-3)


HEALTHY = Healthy(
    "no module below the model is called",
    looks_like=("GRD003", "OPT001", "OPT002", "ADP021"),
)
