"""LoRA on the head of a model in 4 bits, and nowhere else, on purpose.

The blocks are not made ready for gradients: no checkpoint stands in them, and no
gradient goes through them.
"""

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build() -> Case:
    """Build a quantised model with LoRA on its head."""
    model = lora(four_bit(llama(hidden_size=128)), target_modules=["lm_head"])
    return plain_case(model.train(), lr=2e-3)


HEALTHY = Healthy(
    "no quantised layer has an adapter, and each of the others has one",
    looks_like=("ADP012", "MOD002", "GRD003"),
    needs=("bitsandbytes>=0.46",),
)
