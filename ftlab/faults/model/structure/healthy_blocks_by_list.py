"""Blocks 1, 10 and 11 carry the adapter, and the first ten carry another one.

Both are lists of numbers, and neither was found by how a number begins.
"""

from ftlab.faults.builders import Case, Healthy, attention, lora, lora_config
from ftlab.faults.builders.blocks import deep_base
from ftlab.faults.builders.loops import plain_case

DEPTH = 12


def build() -> Case:
    """Build two adapters on blocks of a list each, trained together."""
    model = deep_base(DEPTH)
    ten = lora_config(
        model, target_modules=attention(model), layers_to_transform=list(range(10))
    )
    model = lora(model, layers_to_transform=[1, 10, 11])
    model.add_adapter("ten", ten)
    model.base_model.set_adapter([*model.peft_config])
    return plain_case(model)


HEALTHY = Healthy(
    "the blocks with an adapter have numbers that begin alike",
    looks_like=("MOD014", "ADP012", "ADP010"),
)
