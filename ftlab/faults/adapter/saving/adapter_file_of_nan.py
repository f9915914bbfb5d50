"""A run turned to NaN, went on, and saved its adapter.

The file is complete by names and sizes. Loaded, every answer is NaN, or, behind a
server that replaces NaN by 0, nothing.

Fix: go back to the last checkpoint with finite values.
Source: huggingface/peft#2450, tloen/alpaca-lora#446 (broken files, told at load time).
"""

import torch

from ftlab.faults.builders import Case, Fault, base, batches
from ftlab.faults.builders.saved import loaded, saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter to use it."""
    trained, model = taught(), base()
    if not fixed:
        with torch.no_grad():
            for name, parameter in trained.named_parameters():
                if ".lora_A." in name:
                    parameter.fill_(torch.nan)
    path = saved(trained, model)
    return Case(loaded(model, path), batches=batches(), adapter=path)


FAULT = Fault(
    "the loaded adapter answers NaN",
    code="ADP028",
    places=("file adapter keys",),
    steps=1,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
