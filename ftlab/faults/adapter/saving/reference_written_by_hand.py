"""Of two adapters the one that was not trained is written, by hand.

``get_peft_model_state_dict`` takes "default" unless it is told another name, and what
is trained here has another one. No file has what was learnt.

Fix: ``get_peft_model_state_dict(model, adapter_name=...)``.
Source: read in peft 0.21.2 (``get_peft_model_state_dict``) and reproduced.
"""

from typing import Any

from safetensors.torch import save_file

from ftlab.faults.builders import Case, Fault, current, folder, lora, plain_case

TRAINED = "policy"


def build(fixed: bool) -> Case:
    """Build an adapter that is trained beside the first one."""
    from peft import get_peft_model_state_dict

    model: Any = lora()
    path, first = folder(model), current().adapter
    model.add_adapter(TRAINED, model.peft_config[first])
    model.set_adapter(TRAINED)
    chosen = TRAINED if fixed else first

    def save() -> None:
        state = get_peft_model_state_dict(model, adapter_name=chosen)
        tensors = {key: tensor.clone() for key, tensor in state.items()}
        save_file(tensors, path / "policy.safetensors")

    return plain_case(model, lr=5e-3, afterwards=save)


FAULT = Fault(
    "the saved adapter answers like the base model",
    code="ADP055",
    places=("file policy.safetensors",),
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
