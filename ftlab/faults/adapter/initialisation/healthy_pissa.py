"""PiSSA: both factors start with the principal part of the weight.

B is not 0 at the start, and the base weight is changed to make up for it.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA with PiSSA's initialisation."""
    model = lora(init_lora_weights="pissa")
    return plain_case(model)


HEALTHY = Healthy(
    "B is not 0 before the first step",
    looks_like=("ADP001", "ADP002", "ADP031", "ADP007"),
)
