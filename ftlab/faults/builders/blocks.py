"""The blocks of a model of any family, and models with more of them than usual."""

import dataclasses
from typing import Any

import torch

from ftlab.faults.builders.tiny import base
from ftlab.faults.variation import current, varied

DEPTH = 4
"""Blocks that a fault needs which cuts a model in two."""


def deep_base(depth: int = DEPTH) -> Any:
    """Build a model of the variation's family with at least four blocks, or more."""
    wanted = current()
    with varied(dataclasses.replace(wanted, depth=max(depth, wanted.depth))):
        return base()


def blocks(model: torch.nn.Module) -> torch.nn.ModuleList:
    """Return the list of a model's blocks: its longest list of modules."""
    lists = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList)]
    return max(lists, key=len)


def block_name(model: torch.nn.Module, number: int) -> str:
    """Return the path of a block in ``model``."""
    wanted = blocks(model)[number]
    return next(name for name, module in model.named_modules() if module is wanted)


def four_bit(model: Any, *, packing: bool = False, **settings: Any) -> Any:
    """Load ``model`` again, in 4 bits.

    Parameters
    ----------
    packing
        Whether bitsandbytes may pack weights for its CPU kernel at an evaluation.
    settings
        Of the BitsAndBytesConfig, besides NF4 computed in the model's dtype.
    """
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    from ftlab.faults.builders.trainers import folder

    path = folder(model)
    model.save_pretrained(path)
    dtype = next(model.parameters()).dtype
    asked = {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_compute_dtype": dtype,
    }
    config = BitsAndBytesConfig(**(asked | settings))
    kind = AutoModelForCausalLM
    loaded = kind.from_pretrained(path, dtype=dtype, quantization_config=config)
    for module in loaded.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = packing
    return loaded


def eight_bit(model: Any, dtype: torch.dtype) -> Any:
    """Load ``model`` again, in 8 bits, its other parts in ``dtype``."""
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    from ftlab.faults.builders.trainers import folder

    path = folder(model)
    model.save_pretrained(path)
    config = BitsAndBytesConfig(load_in_8bit=True)
    kind = AutoModelForCausalLM
    return kind.from_pretrained(path, dtype=dtype, quantization_config=config)
