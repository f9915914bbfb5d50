"""The new head of a classifier is a target of LoRA, and is not kept.

The adapter learns what goes with this very head. The file holds the adapter alone: it
is loaded on another random head.

Fix: leave the head out of ``target_modules``; ``modules_to_save=["score"]``.
Source: huggingface/peft#577, #2367; documentation of PEFT: ``modules_to_save`` is for
layers that are initialised anew, such as a head for classes.
"""

from ftlab.faults.builders import Case, Fault, attention, batches, lora, plain_case
from ftlab.faults.builders.heads import classifier
from ftlab.faults.builders.zoo import classes


def build(fixed: bool) -> Case:
    """Build a classifier with LoRA, on its head or beside a head that is kept."""
    model = classifier()
    targets = attention(model)
    if fixed:
        model = lora(model, task_type=None, modules_to_save=["score"])
    else:
        model = lora(model, task_type=None, target_modules=[*targets, "score"])
    return plain_case(model, lr=5e-3, rows=classes(batches()))


FAULT = Fault(
    "the classifier answers otherwise after loading than it did in training",
    code="ADP015",
    places=("param *score.base_layer.weight", "config target_modules"),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
