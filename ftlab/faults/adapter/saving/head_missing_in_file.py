"""The adapter's file was written without the head that was trained.

modules_to_save was asked for, but whoever saved kept the tensors with ``lora_`` in
their names, and whoever loads copies what there is. The head is the base model's.

Fix: save with save_pretrained, and load with from_pretrained, which misses the head.
Source: unslothai/unsloth#3317, huggingface/peft#577, potamides/AutomaTikZ#19.
"""

from safetensors.torch import load_file, save_file

from ftlab.faults.builders import Case, Fault, base, batches, current, lora
from ftlab.faults.builders.saved import head_of, put_by_hand, saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter with a head of its own, tensor by tensor."""
    head = head_of(base())
    model = lora(modules_to_save=[head])
    path = saved(taught(lora(modules_to_save=[head])), model)
    file = path / "adapter_model.safetensors"
    tensors = load_file(file)
    if not fixed:
        tensors = {key: each for key, each in tensors.items() if "lora_" in key}
        save_file(tensors, file)
    put_by_hand(model, tensors, f"modules_to_save.{current().adapter}")
    return Case(model, batches=batches(), adapter=path)


FAULT = Fault(
    "the loaded model is as good as with the head of its base",
    code="ADP028",
    places=("file adapter keys",),
    steps=1,
    evident=-1,
    families=("llama", "neox", "own"),
)
