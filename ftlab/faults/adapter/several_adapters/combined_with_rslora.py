"""``add_weighted_adapter`` of adapters with rsLoRA: sqrt(r) times too strong.

PEFT folds the sources' scaling into the new factors, and sets alpha to the rank so that
the new scaling is 1. It takes ``use_rslora`` over, and with it alpha / sqrt(r).

Fix: divide the weights by the root of the new rank.
Source: huggingface/peft#3449, #3761.
"""

import math
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, current, lora, lora_config, set_seed
from ftlab.faults.builders.loops import plain_case

WEIGHTS = (1.0, 0.5)


def build(fixed: bool) -> Case:
    """Combine two trained adapters, and train the combination on."""
    model = two_trained(use_rslora=True)
    factor = math.sqrt(2 * current().rank) if fixed else 1.0
    combine(model, [weight / factor for weight in WEIGHTS], "cat")
    return plain_case(model, lr=1e-4)


def two_trained(**settings: Any) -> Any:
    """Build a model with two adapters whose B is not 0, as after training."""
    model = lora(**settings)
    model.add_adapter("other", lora_config(model.get_base_model(), **settings))
    set_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0.0, 0.01)
    return model


def combine(model: Any, weights: list[float], kind: str) -> None:
    """Add the weighted sum of both adapters and make it the active one."""
    names = [current().adapter, "other"]
    model.add_weighted_adapter(names, weights, "both", combination_type=kind)
    model.set_adapter("both")


FAULT = Fault(
    "the combination overdoes what its sources do",
    code="ADP038",
    places=("call add_weighted_adapter",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
