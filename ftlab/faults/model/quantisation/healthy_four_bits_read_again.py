"""QLoRA whose 4-bit base is loaded from its own state dict, with ``strict=False``.

Bytes are written without their scales, as in the fault; but they are the same bytes, so
the scales that were there are right.
"""

from ftlab.faults.builders import Case, Healthy, base, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build() -> Case:
    """Read the base twice and give one the state dict of the other."""
    double = {"bnb_4bit_use_double_quant": True}
    model = four_bit(base(), **double)
    model.load_state_dict(four_bit(base(), **double).state_dict(), strict=False)
    model = lora(model)
    return plain_case(model)


HEALTHY = Healthy(
    "keys of a 4-bit checkpoint are unexpected and dropped, of the same weights",
    looks_like=("MOD024", "ADP026"),
    needs=("bitsandbytes>=0.46",),
)
