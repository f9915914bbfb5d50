"""A frozen adapter that is kept beside the one that learns.

TRL makes one like it as the reference of DPO and GRPO.
"""

from ftlab.faults.builders import Case, Healthy, current, lora, plain_case


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
