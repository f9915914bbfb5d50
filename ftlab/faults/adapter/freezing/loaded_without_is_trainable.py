"""A saved adapter is loaded to go on training, and is frozen.

PeftModel.from_pretrained loads for inference unless it is asked not to. With input
gradients on (checkpointing asks for them) backward runs, and nothing changes.

Fix: ``PeftModel.from_pretrained(base, folder, is_trainable=True)``.
Source: huggingface/peft#282, tloen/alpaca-lora#352, huggingface/trl#6700.
"""

import tempfile
from pathlib import Path
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, current, loop_case, lora


def _require(_module: Any, _inputs: Any, output: torch.Tensor) -> None:
    output.requires_grad_(True)


def build(fixed: bool) -> Case:
    """Train an adapter, save it, and load it to go on."""
    from peft import PeftModel

    first = lora()
    optimizer = adamw(first, lr=1e-2)
    loop_case(first, optimizer).run(3)
    with tempfile.TemporaryDirectory() as folder:
        first.save_pretrained(folder)
        path = Path(folder)
        path = path if current().adapter == "default" else path / current().adapter
        model = PeftModel.from_pretrained(
            base(), str(path), adapter_name=current().adapter, is_trainable=fixed
        ).train()
    model.get_input_embeddings().register_forward_hook(_require)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return loop_case(model, optimizer)


FAULT = Fault(
    "training goes on with a saved adapter, and what is saved is what was loaded",
    code="ADP010",
    places=(
        "call from_pretrained",
        "config inference_mode",
    ),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
