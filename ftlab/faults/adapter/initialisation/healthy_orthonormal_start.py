"""OLoRA: the factors start as parts of a QR decomposition of the weight.

Neither is 0; the base weight is changed so that the model starts where it was.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA with OLoRA's initialisation."""
    model = lora(init_lora_weights="olora", lora_alpha=8)
    return plain_case(model, lr=2e-4)


HEALTHY = Healthy(
    "A and B are both large before the first step, the base is not the one loaded",
    looks_like=("ADP001", "ADP002", "ADP031"),
)
