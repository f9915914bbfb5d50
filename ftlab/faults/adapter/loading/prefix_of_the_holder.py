"""Weights are loaded from a state dict of the module that held the model in training.

A Lightning module, or any class with ``self.model = model``, puts ``model.`` before
every key. ``strict=False`` lets all of them pass unread.

Fix: strip the prefix, or load into the module that the state was taken of.
Source: huggingface/peft#1579, huggingface/sentence-transformers#3402.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.saved import taught


def build(fixed: bool) -> Case:
    """Build a run that ends with loading what an earlier one has saved."""
    trained = taught()
    holder = "" if fixed else "model."
    state = {holder + key: value for key, value in trained.state_dict().items()}
    model = lora()

    def load() -> None:
        model.load_state_dict(state, strict=False)

    return plain_case(model, afterwards=load)


FAULT = Fault(
    "the weights that were loaded make no difference",
    code="ADP026",
    places=("file adapter keys",),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
