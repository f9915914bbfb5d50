"""One of two adapters is trained, and the other one is merged and saved.

``merge_and_unload`` is told the name of an earlier adapter. What was trained is neither
merged nor saved.

Fix: ``merge_and_unload(adapter_names=[...])`` with the one that was trained.
Source: PEFT's own note on ``merge_and_unload``; measured.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, base, current, folder, lora, plain_case
from ftlab.faults.builders.saved import saved, taught


def build(fixed: bool) -> Case:
    """Build a model that is merged after training."""
    model: Any = lora(base())
    model.load_adapter(saved(taught(), model), "earlier")
    path, name = folder(model), current().adapter

    def save() -> None:
        names = [name if fixed else "earlier"]
        model.merge_and_unload(adapter_names=names).save_pretrained(path)

    return plain_case(model, lr=5e-3, afterwards=save)


FAULT = Fault(
    "the merged model has learnt nothing of the last training",
    code="ADP020",
    places=("call merge_and_unload",),
    steps=8,
    evident=7,
    families=("llama", "gpt2", "neox"),
)
