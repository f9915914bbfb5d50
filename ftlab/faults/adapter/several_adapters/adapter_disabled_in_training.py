"""The adapter is switched off to look at the base model, and never on again.

A disabled layer is frozen and runs its base layer alone. The head that is trained as
well goes on learning, and hides it. (``disable_adapter_layers()`` switches off such a
head too: then backward raises.)

Fix: compare in ``with model.disable_adapter():``.
Source: seed; huggingface/peft#493, #703, NVIDIA-NeMo/Megatron-Bridge#5945.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, at, base, batches, loop_with, lora
from ftlab.faults.builders.heads import own_head

LOOK = 2


def build(fixed: bool) -> Case:
    """Build LoRA and a trained head, with a look at the base model on the way."""
    bare = base()
    model = lora(bare, modules_to_save=[own_head(bare)])
    layers = [each for each in model.modules() if hasattr(each, "lora_A")]
    optimizer = adamw(model, lr=1e-2)
    made = batches()

    @torch.no_grad()
    def look() -> None:
        if fixed:
            with model.disable_adapter():
                model(**made[LOOK])
        else:
            for layer in layers:
                layer.enable_adapters(False)
            model(**made[LOOK])

    return loop_with(model, optimizer, made, before=at(LOOK, look))


FAULT = Fault(
    "after a look at the base model the adapter does not learn",
    code="ADP003",
    places=("module *.*",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
