"""LoRA on a model as from_pretrained returned it: in evaluation mode, without dropout.

Nothing in it depends on the mode: the run is the same to the last bit.
"""

from ftlab.faults.builders import Case, Healthy, base, lora, plain_case


def build() -> Case:
    """Build LoRA on a model that nobody called train() on."""
    model = lora(base().eval())
    return plain_case(model)


HEALTHY = Healthy(
    "the model is in evaluation mode for the whole run",
    looks_like=("MOD006",),
    steps=40,
)
