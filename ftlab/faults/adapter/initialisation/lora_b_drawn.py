"""An initialisation that is run over the whole model draws the adapter's B as well.

Fix: initialise before get_peft_model, or set ``lora_B`` to 0 afterwards.
Source: hao-ai-lab/FastVideo#781, mflux-community/mflux#739.
"""

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build a LoRA model and draw its factors anew."""
    model = lora()
    for name, parameter in model.named_parameters():
        if "lora_A" in name or ("lora_B" in name and not fixed):
            torch.nn.init.kaiming_uniform_(parameter, a=5**0.5)
    optimizer = adamw(model)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "lora-b-drawn",
    "previews of a fresh adapter are not those of the base model",
    code="ADP032",
    places=("param *.lora_B.*",),
    builder=build,
    steps=6,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
