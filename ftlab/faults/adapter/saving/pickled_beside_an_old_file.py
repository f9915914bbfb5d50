"""The adapter is pickled into a folder that has an older adapter as safetensors.

``save_pretrained(folder, safe_serialization=False)`` writes ``adapter_model.bin`` and
leaves ``adapter_model.safetensors`` as it was. Loading reads the latter.

Fix: leave ``safe_serialization`` out, or delete the old file.
Source: huggingface/peft#553 (the order of the files).
"""

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora
from ftlab.faults.builders.trainers import folder


def build(fixed: bool) -> Case:
    """Build a run that saves twice, the second time in the other format."""
    model = lora()
    path = folder(model)
    optimizer = adamw(model, lr=1e-2)

    return loop_with(
        model,
        optimizer,
        batches(),
        after=at(2, lambda: model.save_pretrained(path)),
        afterwards=lambda: model.save_pretrained(path, safe_serialization=fixed),
    )


FAULT = Fault(
    "the saved adapter answers like that of an earlier checkpoint",
    code="ADP028",
    places=("file adapter keys",),
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
