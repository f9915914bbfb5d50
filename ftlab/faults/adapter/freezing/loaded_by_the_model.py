"""The model's own ``load_adapter`` freezes the adapter and leaves its head trainable.

Training goes on with the head alone: nothing is raised, for something requires
gradients. The pairs stay what they were.

Fix: ``model.load_adapter(folder, is_trainable=True)``, before the optimizer is built.
Source: transformers' PeftAdapterMixin (``is_trainable`` is False by default); as
huggingface/peft#282 has it of from_pretrained.
"""

from ftlab.faults.builders import Case, Fault, base, current, lora, plain_case
from ftlab.faults.builders.heads import head
from ftlab.faults.builders.saved import saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter with a trained head, to go on."""
    model = base()
    path = saved(taught(lora(modules_to_save=[head(model)])), model)
    model.load_adapter(str(path), current().adapter, is_trainable=fixed)
    model.train()
    return plain_case(model, adapter=path)


FAULT = Fault(
    "training goes on with a saved adapter, and only its head changes",
    code="ADP010",
    places=("call load_adapter", "config inference_mode"),
    evident=-1,
    families=("llama", "neox"),
)
