"""A frozen adapter that is kept beside the one that learns.

TRL makes one like it as the reference of DPO and GRPO.
"""

from ftlab.faults.builders.loops import plain_case
from ftlab.faults.builders.tiny import lora
from ftlab.faults.fault import Case, Healthy
from ftlab.faults.variation import current


def build() -> Case:
    """Build a LoRA model with a second adapter."""
    model = lora()
    model.add_adapter("reference", model.peft_config[current().adapter])

    return plain_case(model)


HEALTHY = Healthy(
    "every tensor of one of the adapters is frozen and 0",
    looks_like=(
        "ADP010",
        "ADP001",
    ),
)
