"""A saved adapter is loaded to go on with a head that was unfrozen by hand.

PeftModel.from_pretrained freezes the adapter unless it is asked not to. The output head
is unfrozen as it was in the first stage, so that backward runs and the loss falls; the
adapter stays what it was.

Fix: ``PeftModel.from_pretrained(base, folder, is_trainable=True)``.
Source: huggingface/peft#282, tloen/alpaca-lora#352, huggingface/transformers#26098.
"""

from ftlab.faults.builders import Case, Fault, base, plain_case
from ftlab.faults.builders.saved import head_of, loaded, saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter, and train it with the head, or the head alone."""
    fresh = base()
    model = loaded(fresh, saved(taught(), owner=fresh), is_trainable=fixed).train()
    head = getattr(model.get_base_model(), head_of(fresh))
    head.weight.requires_grad_(True)
    return plain_case(model)


FAULT = Fault(
    "only the head learns in the second stage; the adapter is what was loaded",
    code="ADP010",
    places=("call from_pretrained", "config inference_mode", "param *lora_*"),
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
    also=("ADP020",),
)
