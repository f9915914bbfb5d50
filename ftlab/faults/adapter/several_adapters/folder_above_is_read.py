"""The folder that was saved is loaded, and the adapter that was trained lies below it.

The one that was trained has a name of its own. Beside it there is "default", which
get_peft_model made and nobody trained: that is what the folder itself holds.

Fix: load the folder of its name, or delete "default" before training.
Source: huggingface/peft#699, #1059 (what is in the folder of several adapters).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, base, folder, lora_config
from ftlab.faults.builders.loops import plain_case
from ftlab.faults.builders.saved import loaded


def build(fixed: bool) -> Case:
    """Train an adapter beside another one, save both, and load one."""
    from peft import get_peft_model

    model: Any = get_peft_model(base(), lora_config(base()))
    model.add_adapter("sql", lora_config(base()))
    model.set_adapter("sql")
    bare, path = base(), folder(model)

    def hand_over() -> Any:
        model.save_pretrained(path)
        return loaded(bare, path / "sql" if fixed else path)

    return plain_case(model, lr=5e-3, afterwards=hand_over)


FAULT = Fault(
    "the model that was loaded answers like its base, although training went well",
    code="ADP035",
    places=("file adapter keys", "call from_pretrained"),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
