"""A name in ``modules_to_save`` is misspelled: nothing is trained and saved for it.

Fix: the module's name in this model.
Source: huggingface/trl#895 (``scores`` for ``score``), huggingface/peft#1070.
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Build a LoRA model with a head that is to be kept."""
    model = base()
    name = head(model)
    model = lora(model, modules_to_save=[name if fixed else f"{name}s"])
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the new tokens are forgotten when the adapter is loaded",
    code="ADP012",
    places=("config modules_to_save",),
    evident=-1,
    families=("llama", "neox", "own"),
)
