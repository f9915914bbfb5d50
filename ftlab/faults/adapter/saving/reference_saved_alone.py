"""Of two adapters the one that was not trained is saved.

``selected_adapters`` keeps files small. Here it names the frozen reference, and what
was trained is in no file when the process ends.

Fix: name the adapter that is trained, or leave ``selected_adapters`` out.
Source: seed; huggingface/peft, ``selected_adapters`` of ``save_pretrained``.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, current, folder, lora, plain_case

REFERENCE = "reference"


def build(fixed: bool) -> Case:
    """Build an adapter beside its frozen reference."""
    model: Any = lora()
    own, path = current().adapter, folder(model)
    model.add_adapter(REFERENCE, model.peft_config[own])
    model.set_adapter(own)
    chosen = own if fixed else REFERENCE

    def save() -> None:
        model.save_pretrained(path, selected_adapters=[chosen])

    return plain_case(model, lr=5e-3, afterwards=save)


FAULT = Fault(
    "the saved adapter answers like the base model",
    code="ADP020",
    places=("call save_pretrained", "file adapter keys"),
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
