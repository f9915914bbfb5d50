"""An adapter that was tried out is deleted, and the head of the one before stays off.

The adapter that is trained keeps a head of its own in modules_to_save; the one that is
deleted has none. PEFT makes the first one active again in its pairs, and returns early
from the head: its copy stays frozen, and the base model's head runs in its place.

Fix: ``model.set_adapter(name)`` after delete_adapter, before the optimizer is built.
Source: huggingface/peft#3716, on 0.21.2. PEFT before 0.19 switches the whole head off,
and trains the base model's in its place (ADP003).
"""

import warnings

from ftlab.faults.builders import Case, Fault, base, current, lora, lora_config
from ftlab.faults.builders.heads import head
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Try another adapter out, and delete it."""
    model, own = base(), current().adapter
    model = lora(model, modules_to_save=[head(model)])
    model.add_adapter("trial", lora_config(model.get_base_model()))
    model.set_adapter("trial")
    # PEFT tells which adapter is active now
    with warnings.catch_warnings(action="ignore"):
        model.delete_adapter("trial")
    if fixed:
        model.set_adapter(own)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "after another adapter was deleted the head of this one does not learn",
    code="ADP010",
    places=("param *.modules_to_save.*",),
    evident=-1,
    families=("llama", "neox", "own"),
    needs=("peft>=0.19",),
)
