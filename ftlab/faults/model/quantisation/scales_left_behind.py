"""A 4-bit checkpoint is loaded with ``strict=False``: garbage, and no error.

``Linear4bit`` saves its bytes with their scales and loads the bytes alone. ``strict``
complained of unexpected keys (absmax, quant_map), so it was switched off; the bytes
are now read with the scales of the model that was there before.

Fix: ``from_pretrained`` on a folder that ``save_pretrained`` wrote, or put each
``weight.quant_state`` back from the same state dict.
Source: bitsandbytes-foundation/bitsandbytes#1946; AnswerDotAI/fsdp_qlora#70.
"""

from collections.abc import Mapping
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build(fixed: bool) -> Case:
    """Load another model's state dict into a quantised model."""
    state = four_bit(base(seed=3)).state_dict()
    model = four_bit(base())
    model.load_state_dict(state, strict=False)
    if fixed:
        for name, module in model.named_modules():
            put_back(module, name, state)
    model = lora(model)
    return plain_case(model)


def put_back(module: Any, name: str, state: Mapping[str, torch.Tensor]) -> None:
    """Give a layer the quantisation state of a state dict."""
    from bitsandbytes.functional import QuantState

    stem = f"{name}.weight."
    parts = {k.removeprefix(stem): v for k, v in state.items() if k.startswith(stem)}
    if parts:
        read = QuantState.from_dict(parts, module.weight.device)
        module.weight.quant_state = module.quant_state = read


FAULT = Fault(
    "a 4-bit checkpoint that was good gives garbage when it is loaded",
    code="MOD024",
    places=("module *", "call load_state_dict", "config quant_state.absmax"),
    evident=-1,
    families=("llama", "neox"),
    needs=("bitsandbytes>=0.46",),
)
