"""A loader puts the head of an adapter's file where nobody calls it.

PEFT keeps two heads, ``original_module`` and the copy in ``modules_to_save``, and calls
the copy. Loaders that go by the key in the file fill the original one: the head that
answers is the fresh one.

Fix: load with ``PeftModel.from_pretrained``.
Source: huggingface/sentence-transformers#3980, huggingface/transformers#48595.
"""

from safetensors.torch import load_file

from ftlab.faults.builders import Case, Fault, base, batches, current, lora
from ftlab.faults.builders.saved import head_of, put_by_hand, saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter with a head of its own, tensor by tensor."""
    head = head_of(base())
    model = lora(modules_to_save=[head])
    path = saved(taught(lora(modules_to_save=[head])), model)
    copy = f"modules_to_save.{current().adapter}"
    where = copy if fixed else "original_module"
    put_by_hand(model, load_file(path / "adapter_model.safetensors"), where)
    return Case(model, batches=batches(), adapter=path)


FAULT = Fault(
    "the loaded model answers with a fresh head",
    code="ADP026",
    places=("file adapter keys", "param *modules_to_save*"),
    steps=1,
    evident=-1,
    families=("llama", "neox", "own"),
)
