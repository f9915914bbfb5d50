"""A sweep that freezes "the rest of the model" catches the adapter too.

The loop was written for names of another method and matches nothing, so everything is
frozen; the embeddings' output requires a gradient, and backward does not complain.

Fix: leave ``requires_grad`` alone after get_peft_model.
Source: huggingface/transformers#26098, huggingface/peft#760.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import batches, lora
from ftlab.faults.fault import Case, Fault


def _require(_module: Any, _inputs: Any, output: torch.Tensor) -> None:
    output.requires_grad_(True)


def build(fixed: bool) -> Case:
    """Build a LoRA model and freeze all of it."""
    model = lora()
    if not fixed:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("adapter_layers" in name)
    module = model.get_base_model()
    embed = next(m for m in module.modules() if isinstance(m, torch.nn.Embedding))
    embed.register_forward_hook(_require)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "adapter-frozen-by-sweep",
    "the loss is flat although an adapter was added",
    code="ADP010",
    places=("param *.lora_*",),
    builder=build,
    steps=6,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
