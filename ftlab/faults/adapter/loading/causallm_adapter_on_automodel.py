"""An adapter of a causal model is loaded on the bare transformer.

Its keys begin with ``base_model.model.model.layers``, those of AutoModel's class with
``base_model.model.layers``: no key is found, B stays 0, and PEFT says so in one warning
among others. The features are the base model's.

Fix: load it on the class that was trained and take ``.model``, or pass ``key_mapping``.
Source: huggingface/transformers#36594, huggingface/peft#1579, huggingface/peft#2566.
"""

import warnings

from ftlab.faults.builders import Case, Fault, base, batches, lora
from ftlab.faults.builders.saved import loaded, saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter to compute features."""
    path = saved(trained := taught(lora(task_type=None)))
    model = base()
    with warnings.catch_warnings(action="ignore"):
        adapted = loaded(model if fixed else model.base_model, path)
    adapted.trained = [trained]  # the folder lives as long as what was saved to it
    return Case(adapted, batches=batches())


FAULT = Fault(
    "features of the tuned model are those of the base model",
    code="ADP026",
    places=("file adapter keys", "param *lora_*"),
    steps=1,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
