"""``add_weighted_adapter`` of an adapter with a head: the new adapter has the old head.

A and B are combined. What stands in modules_to_save, as every task head does, is copied
from the base model for the new adapter: two such heads are refused, one is left behind.

Fix: copy the head, ``wrapper.modules_to_save[new].load_state_dict(...)``.
Source: huggingface/peft#1615; measured with peft 0.21.2.
"""

from typing import Any

import torch

from ftlab.faults.adapter.several_adapters.combined_with_rslora import combine
from ftlab.faults.builders import Case, Fault, current, plain_case
from ftlab.faults.builders.heads import own_head
from ftlab.faults.builders.tiny import base, lora, lora_config, set_seed


def build(fixed: bool) -> Case:
    """Combine an adapter that has a head with one that has none."""
    bare = base()
    second = lora_config(bare)
    model = lora(bare, modules_to_save=[own_head(bare)])
    model.add_adapter("other", second)
    set_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name or f"modules_to_save.{current().adapter}" in name:
                parameter.add_(torch.randn_like(parameter), alpha=0.01)
    combine(model, [0.5, 0.5], "cat")
    if fixed:
        _copy_heads(model)
    return plain_case(model, lr=1e-4)


def _copy_heads(model: Any) -> None:
    from peft.utils.other import ModulesToSaveWrapper

    for module in model.modules():
        if isinstance(module, ModulesToSaveWrapper):
            copies: Any = module.modules_to_save
            copies["both"].load_state_dict(copies[current().adapter].state_dict())


FAULT = Fault(
    "the combination's answers are those of an untrained head",
    code="ADP038",
    places=("config modules_to_save",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
