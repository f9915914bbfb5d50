"""Label smoothing on a causal model that the Trainer does not know by name.

A subclass of one's own shifts the labels in its loss. Smoothing takes the loss away
from it, and the Trainer shifts only for the classes of its list: the model learns to
repeat the token that it has read.

Fix: no smoothing, or a loss of one's own that shifts.
Source: huggingface/transformers#27161, huggingface/transformers#17960.
"""

from ftlab.faults.builders import Case, Fault, base, lora, trained


def build(fixed: bool) -> Case:
    """Build a Trainer of a causal model whose class has another name."""
    model = base()
    kind = type(model)
    if not fixed:
        model.__class__ = type(f"Own{kind.__name__}", (kind,), {})
    return trained(lora(model), max_steps=8, label_smoothing_factor=0.1)


FAULT = Fault(
    "the loss is near 0 after some steps, and the model repeats its last word",
    code="ENV005",
    places=("config label_smoothing_factor",),
    steps=8,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
