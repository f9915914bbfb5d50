"""A scheduler that is stepped for each batch and is constant by what it says.

``get_constant_schedule`` is what one writes where a schedule is asked for and none is
wanted.
"""

from ftlab.faults.builders import Case, Healthy, adamw, loop_case, lora


def build() -> Case:
    """Build LoRA under a constant schedule."""
    from transformers import get_constant_schedule

    model = lora()
    optimizer = adamw(model, lr=5e-3)
    scheduler = get_constant_schedule(optimizer)
    return loop_case(model, optimizer, scheduler=scheduler)


HEALTHY = Healthy(
    "a scheduler that is stepped again and again and changes nothing",
    looks_like=("OPT011", "OPT003", "OPT008"),
    steps=40,
)
