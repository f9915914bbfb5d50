"""A model is wrapped by get_peft_model, and then again by from_pretrained.

The names have the prefix twice; the file's names find nothing, and B stays 0. There is
only a UserWarning about missing adapter keys.

Fix: ``PeftModel.from_pretrained(base, folder)`` on the bare base.
Source: huggingface/peft#2115, huggingface/lerobot#3459.
"""

import tempfile
import warnings
from pathlib import Path

from ftlab.faults.builders import Case, Fault, adamw, base, current, loop_case, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Train an adapter, save it, and load it into a wrapped model."""
    from peft import PeftModel

    first = lora()
    optimizer = adamw(first, lr=1e-2)
    loop_case(first, optimizer).run(3)
    bare = base() if fixed else lora()
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore"),
    ):
        first.save_pretrained(folder)
        path = Path(folder)
        path = path if current().adapter == "default" else path / current().adapter
        model = PeftModel.from_pretrained(
            bare, str(path), adapter_name=current().adapter, is_trainable=True
        )
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "a loaded adapter gives exactly the base model's answers",
    code="ADP014",
    places=("module *base_model.model.base_model",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
