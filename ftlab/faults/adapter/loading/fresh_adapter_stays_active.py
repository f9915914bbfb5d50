"""A trained adapter is loaded beside a fresh one, and the fresh one is used.

``get_peft_model`` made an adapter; ``load_adapter`` puts another one beside it and does
not activate it. All answers are the base model's.

Fix: ``model.set_adapter(name)``, or ``PeftModel.from_pretrained(base, folder)`` alone.
Source: peft `peft_model.py`, ``load_adapter``: says that it activates nothing.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, lora
from ftlab.faults.builders.saved import saved, taught

LOADED = "trained"


def build(fixed: bool) -> Case:
    """Build a model that is evaluated with an adapter from a folder."""
    model: Any = lora()
    path = saved(taught(), model)
    model.load_adapter(path, LOADED)
    if fixed:
        model.set_adapter(LOADED)
    model.eval()

    @torch.no_grad()
    def evaluate() -> None:
        for batch in batches():
            model(**batch)

    return Case(model, afterwards=evaluate)


FAULT = Fault(
    "the model answers like its base although the adapter was loaded",
    code="ADP026",
    places=("call set_adapter", "call load_adapter"),
    steps=0,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
