"""The reference is the base model that get_peft_model was given, and has changed.

PEFT puts its layers into the model in place: the variable that still holds the "base
model" runs the adapter as well. The margin is 0 for good.

Fix: ``with torch.no_grad(), model.disable_adapter():`` for the reference pass.
Source: PEFT's documentation of get_peft_model ("might be modified in-place").
"""

from ftlab.faults.builders import Case, Fault, base, lora
from ftlab.faults.builders.preferences import near_itself


def build(fixed: bool) -> Case:
    """Build DPO of a LoRA, with the model under it as the reference."""
    plain = base()
    model = lora(plain)
    return near_itself(model, plain, off=fixed)


FAULT = Fault(
    "the KL to the base model is 0 at every step",
    code="ADP031",
    places=("object reference",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
