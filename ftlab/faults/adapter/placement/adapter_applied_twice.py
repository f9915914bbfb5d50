"""An adapter is put on a base that it was merged into.

Somebody saved the result of merge_and_unload as the base model; the same adapter is
loaded on it: the model computes W + 2 D and over-does what it learned.

Fix: load the adapter on the original base, or use the merged model alone.
Source: radixark/miles#1091, huggingface/peft#1355, huggingface/peft#1064.
"""

from ftlab.faults.builders import Case, Fault, base, batches
from ftlab.faults.builders.saved import loaded, saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter to use it."""
    model = base()
    path = saved(taught(steps=20), model)
    if not fixed:
        model = loaded(model, path).merge_and_unload()
    return Case(loaded(model, path), batches=batches())


FAULT = Fault(
    "the served model over-does the style that it was tuned for",
    code="ADP023",
    places=("param *base_layer.weight", "call merge_and_unload"),
    steps=1,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
