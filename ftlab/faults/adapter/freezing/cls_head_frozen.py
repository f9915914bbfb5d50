"""The configuration of a classifier's adapter has no ``task_type``.

PEFT does not know of the fresh head ``score`` then: it is frozen with the base, and not
saved.

Fix: ``task_type="SEQ_CLS"``, or ``modules_to_save=["score"]``.
Source: huggingface/peft#577, #2367, 2U1/Qwen-VL-Series-Finetune#208.
"""

from ftlab.faults.builders import Case, Fault, batches, classes, lora, plain_case
from ftlab.faults.builders.heads import classifier


def build(fixed: bool) -> Case:
    """Build a classifier with LoRA."""
    model = lora(classifier(), task_type="SEQ_CLS" if fixed else None)
    return plain_case(model, lr=5e-3, rows=classes(batches()))


FAULT = Fault(
    "sequence classification with LoRA trains poorly; after loading it is random",
    code="ADP015",
    places=("param *score.weight",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
