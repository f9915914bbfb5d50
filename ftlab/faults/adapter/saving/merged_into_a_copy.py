"""The adapter is merged into a copy of the model, and the model itself is saved.

The copy was made to keep the adapter for later; it is evaluated, and dropped.

Fix: save what ``merge_and_unload()`` returned.
Source: seed; huggingface/peft#2032 (the result of a merge that nobody keeps).
"""

import copy

from ftlab.faults.builders import Case, Fault, batches, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that merges and saves when it is over."""
    model = lora()
    path = folder(model)

    def save() -> None:
        merged = copy.deepcopy(model).merge_and_unload()
        merged(**batches()[0])
        (merged if fixed else model.unload()).save_pretrained(path)

    return plain_case(model, lr=5e-3, afterwards=save)


FAULT = Fault(
    "the merged model was good, and the saved one answers like the base model",
    code="ADP020",
    places=("call unload",),
    steps=8,
    evident=7,
    families=("llama", "gpt2", "neox"),
)
