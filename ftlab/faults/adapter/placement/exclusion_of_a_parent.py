"""``exclude_modules`` names a block, and its layers are adapted all the same.

PEFT compares the ends of names: a parent excludes none of its children.

Fix: a regular expression that matches the children.
Source: ``check_target_module_exists`` of huggingface/peft.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model whose first block is to be left out."""
    model = base()
    blocks = next(
        n for n, m in model.named_modules() if isinstance(m, torch.nn.ModuleList)
    )
    wanted = rf"{blocks}\.0\..*" if fixed else [f"{blocks}.0"]
    model = lora(model, exclude_modules=wanted)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "layers that were excluded carry adapters",
    code="ADP012",
    places=("config exclude_modules",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
