"""A vision model with batch norms is trained with LoRA, and only the adapter is saved.

The norms' running statistics follow the new pictures. They are buffers of the frozen
base, so that the adapter's file does not hold them.

Fix: ``modules_to_save`` with the batch norms, or keep these in evaluation mode.
Source: the troubleshooting guide of huggingface/peft (batch norm layers).
"""

from ftlab.faults.builders import Case, Fault, folder, lora, pictures, plain_case
from ftlab.faults.builders.convolutions import convolutions


def build(fixed: bool) -> Case:
    """Build LoRA on convolutions."""
    norms = ["calm", "calmer"] if fixed else []
    model = lora(
        convolutions(),
        target_modules=["first", "second"],
        modules_to_save=["verdict", *norms],
    )
    path = folder(model)
    return plain_case(
        model, lr=1e-3, rows=pictures(), afterwards=lambda: model.save_pretrained(path)
    )


FAULT = Fault(
    "the adapter is good in training and bad when it is loaded again",
    code="ADP044",
    places=("module *.calm*",),
)
