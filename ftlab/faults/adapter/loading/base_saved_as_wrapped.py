"""A model was saved with its adapter on it, and is loaded for a second stage.

``get_base_model().save_pretrained()`` writes ``q_proj.base_layer.weight`` where
from_pretrained looks for ``q_proj.weight``: it finds none, and draws it at random.

Fix: save ``merge_and_unload()``'s model, or the PeftModel and load it with PEFT.
Source: cloneofsimo/lora#9, instructlab/training#141.
"""

import shutil
import tempfile
import weakref

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.saved import taught


def build(fixed: bool) -> Case:
    """Save a model after a first stage, and put a second adapter on what is loaded."""
    first = taught()
    path = tempfile.mkdtemp(prefix="ftlab-")
    (first.merge_and_unload() if fixed else first.get_base_model()).save_pretrained(
        path
    )
    second = type(first.get_base_model()).from_pretrained(path)
    weakref.finalize(second, shutil.rmtree, path, True)
    model = lora(second)
    return plain_case(model, lr=5e-3)


FAULT = Fault(
    "the second stage begins as if the model had never been trained",
    code="ADP026",
    places=("call from_pretrained",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
