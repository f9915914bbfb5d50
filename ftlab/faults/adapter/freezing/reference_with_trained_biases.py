"""``bias="all"`` trains the biases of a model that is its own reference.

``disable_adapter`` switches layers off, not biases. The reference moves along with the
model, and the KL term or DPO no longer holds it near the base.

Fix: ``bias="none"``, or a second, untouched base as the reference.
Source: huggingface/peft#741 (without the adapter the outputs are not the base's).
"""

from ftlab.faults.builders import Case, Fault, base, current, gpt2, lora
from ftlab.faults.builders.loops import near_base, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA whose loss has a KL to the model without it."""
    plain = gpt2() if current().family == "llama" else base()
    model = lora(plain, bias="none" if fixed else "all")
    return plain_case(model, loss_of=near_base(model))


FAULT = Fault(
    "the KL to the base stays small, and the model is far from the base",
    code="ADP016",
    places=("config bias", "call disable_adapter"),
    evident=1,
    families=("gpt2", "neox", "own"),
)
