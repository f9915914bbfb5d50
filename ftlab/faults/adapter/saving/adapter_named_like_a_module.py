"""Two adapters are saved, and one of them is called like a module of the model.

When PEFT saves the other one it leaves out every key with the first one's name in it:
that is how it tells adapters apart. The file lacks all tensors of that module, and
loading it says nothing.

Fix: give adapters names that no module has.
Source: read in peft 0.21.2 (``_filter_state_dict_for_adapter_name``) and reproduced;
huggingface/peft#2699 is a kin of it (an adapter that is called "lora").
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, attention, base, lora_config, set_seed
from ftlab.faults.builders.loops import plain_case
from ftlab.faults.builders.trainers import folder


def build(fixed: bool) -> Case:
    """Build two adapters that are trained together and saved."""
    from peft import get_peft_model

    model: Any = base()
    set_seed(1)
    config = lora_config(model)
    first = "tone" if fixed else attention(model)[0]
    model = get_peft_model(model, config, adapter_name=first)
    model.add_adapter("style", config)
    model.base_model.set_adapter([first, "style"])
    path = folder(model)

    def save() -> None:
        model.save_pretrained(path)

    return plain_case(model, lr=5e-3, afterwards=save)


FAULT = Fault(
    "a saved adapter is worse when it is loaded again",
    code="ADP028",
    places=("file adapter keys",),
    evident=5,
    families=("llama", "own"),
    needs=("peft>=0.21",),
)
