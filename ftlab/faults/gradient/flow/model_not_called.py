"""The loss is computed from a copy of the model that was made before the adapter.

``get_peft_model`` of a deep copy leaves the first model as it was; the loop still calls
that one. Its head was made trainable, so backward runs, and the adapter stands aside.

Fix: call the model that ``get_peft_model`` returned.
Source: seed; measured.
"""

import copy

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA on a copy, and a loop that calls the first one."""
    first = base()
    model = lora(copy.deepcopy(first))
    called = model if fixed else first
    return plain_case(model, loss_of=lambda batch: called(**batch).loss)


FAULT = Fault(
    "the loss stays flat although the adapter is trainable and in the optimizer",
    code="GRD003",
    places=("call model.forward",),
    steps=10,
    evident=1,
    also=("ADP001", "NUM003"),
    families=("llama", "gpt2", "neox", "own"),
)
