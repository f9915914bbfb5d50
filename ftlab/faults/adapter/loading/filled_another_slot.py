"""A saved adapter is put into one that is not active, and an empty one is trained.

``set_peft_model_state_dict`` fills the adapter "default" unless it is told another
name. The one that is active stays at 0, and training begins anew.

Fix: ``set_peft_model_state_dict(model, state, adapter_name=...)``.
Source: huggingface/peft#285, #1323 (the name of the adapter when loading).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, base, current, lora, lora_config
from ftlab.faults.builders.loops import plain_case
from ftlab.faults.builders.saved import saved, taught

TRAINED = "style"


def build(fixed: bool) -> Case:
    """Build a model with two adapters, and fill one of them."""
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    model: Any = lora()
    path = saved(taught(), model)
    model.add_adapter(TRAINED, lora_config(base()))
    model.set_adapter(TRAINED)
    name = TRAINED if fixed else current().adapter
    state = load_file(path / "adapter_model.safetensors")
    set_peft_model_state_dict(model, state, adapter_name=name)
    return plain_case(model, lr=5e-3, adapter=path)


FAULT = Fault(
    "the resumed training begins where an untrained adapter does",
    code="ADP026",
    places=("call set_peft_model_state_dict", "param *.lora_B.style.weight"),
    steps=8,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
