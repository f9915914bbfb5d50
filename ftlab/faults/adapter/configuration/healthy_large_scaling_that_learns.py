"""A scaling of 8, as in LoRA's own recipe for GPT-2, on weights that are small.

The adapter outgrows the weights that it is put on, and the loss falls all the same.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA of rank 4 with an alpha of 32."""
    model = lora(r=4, lora_alpha=32)
    return plain_case(model, lr=5e-3)


HEALTHY = Healthy(
    "the adapter is larger than the weight, and alpha is eight times the rank",
    looks_like=("ADP018", "GRD002"),
    steps=64,
)
