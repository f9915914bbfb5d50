"""Adapters with rsLoRA are combined, and the layers' scaling is put right by hand.

The scaling is then 1, and not what alpha, the rank and rsLoRA would give.
"""

from typing import Any

from ftlab.faults.adapter.several_adapters.combined_with_rslora import (
    combine,
    two_trained,
)
from ftlab.faults.builders import Case, Healthy, plain_case


def build() -> Case:
    """Build the combination and set its scaling to 1."""
    model = two_trained(use_rslora=True)
    combine(model, [0.5, 0.5], "cat")
    model.peft_config["both"].use_rslora = False
    for module in model.modules():
        scaling: Any = getattr(module, "scaling", None)
        if isinstance(scaling, dict) and "both" in scaling:
            scaling["both"] = 1.0
    return plain_case(model, lr=1e-3)


HEALTHY = Healthy(
    "the scaling of every layer was set by hand",
    looks_like=("ADP038", "ADP017", "ADP018"),
)
