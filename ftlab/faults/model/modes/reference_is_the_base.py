"""The reference is put into evaluation mode once, and the adapter is in it.

``reference = model.get_base_model().eval()`` looks like another model. It is the one
that PEFT has put the adapter into: its dropout is off, while ``model.training`` is
True.

Fix: ``model.train()`` after it; the reference's pass is made within
``model.disable_adapter()``, in evaluation mode if anything in the base drops.
Source: seed; ``get_base_model()`` returns the model that the adapter is in.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Put the base into evaluation mode before the first step."""
    model = lora(lora_dropout=0.1)
    model.get_base_model().eval()
    if fixed:
        model.train()
    return plain_case(model)


FAULT = Fault(
    "the adapter's dropout does nothing, and the model says that it trains",
    code="MOD006",
    places=("module base_model*",),
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
