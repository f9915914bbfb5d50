"""Layers are compiled one by one, and their wrappers' names get into the checkpoint.

``layers[i] = torch.compile(layers[i])`` puts ``_orig_mod.`` into the name of everything
within. Training is fine, the file is full of numbers, and loading finds no key of it:
a resumed run starts from a fresh adapter, without a word.

Fix: compile in place with ``layer.compile()``, or wrap the whole model.
Source: MakazhanAlpamys/Soup#335, #351, #380, huggingface/peft#2957.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA and compile its blocks."""
    model = lora()
    compile_blocks(model, in_place=fixed)
    return plain_case(model, lr=1e-2)


def compile_blocks(model: Any, *, in_place: bool) -> None:
    """Compile each block of a model, in place or by wrapping it."""
    lists = (each for each in model.modules() if isinstance(each, nn.ModuleList))
    blocks = next(lists)
    for index, block in enumerate(blocks):
        if in_place:
            block.compile(backend="eager")
        else:
            wrapped: Any = torch.compile(block, backend="eager")
            blocks[index] = wrapped


FAULT = Fault(
    "a run that resumes from its checkpoint starts from a fresh adapter",
    code="ADP021",
    places=("file adapter keys", "module *_orig_mod*"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
