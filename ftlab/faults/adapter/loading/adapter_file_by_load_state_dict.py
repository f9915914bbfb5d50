"""An adapter's file is loaded with ``model.load_state_dict(..., strict=False)``.

PEFT's files have no adapter's name in their keys, and the model's own names have one:
not one key is found. With ``strict=False`` that is no error, and the adapter stays as
it was.

Fix: ``set_peft_model_state_dict(model, tensors)``, or ``model.load_adapter``.
Source: huggingface/peft#1323, huggingface/peft#2699.
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, current, loop_with, lora
from ftlab.faults.builders.saved import taught

WHEN = 2


def build(fixed: bool) -> Case:
    """Build a loop that goes over to a trained adapter after some steps."""
    from peft import get_peft_model_state_dict, set_peft_model_state_dict

    name = current().adapter
    tensors = get_peft_model_state_dict(taught(), adapter_name=name)
    model = lora()
    optimizer = adamw(model)

    def before(done: int) -> None:
        if done == WHEN and fixed:
            set_peft_model_state_dict(model, tensors, adapter_name=name)
        elif done == WHEN:
            model.load_state_dict(tensors, strict=False)

    return loop_with(model, optimizer, batches(), before=before)


FAULT = Fault(
    "the loss does not drop where the trained adapter was loaded",
    code="ADP026",
    places=("file adapter keys",),
    evident=WHEN,
    families=("llama", "gpt2", "neox", "own"),
)
