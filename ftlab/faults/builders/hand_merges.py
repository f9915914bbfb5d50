"""Merges that somebody writes: what is added to the weights under an adapter."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

Delta = Callable[[Any, str], torch.Tensor]
"""From a LoRA layer and an adapter's name: what is added to the layer's weight."""


def adapted(model: torch.nn.Module) -> Iterator[Any]:
    """Give the LoRA layers of a model."""
    from peft.tuners.lora import LoraLayer

    for module in model.modules():
        if isinstance(module, LoraLayer):
            yield module


def right(layer: Any, adapter: str) -> torch.Tensor:
    """Return what the adapter adds."""
    whole: torch.Tensor = layer.get_delta_weight(adapter)
    return whole.detach()


def product(layer: Any, adapter: str) -> torch.Tensor:
    """Return B A alone, turned as the weight is."""
    return right(layer, adapter) / layer.scaling[adapter]


def put(model: Any, delta: Delta = right, sign: int = 1) -> None:
    """Add it to every weight below an adapter that is active."""
    with torch.no_grad():
        for layer in adapted(model):
            for adapter in layer.active_adapters:
                layer.get_base_layer().weight.data += sign * delta(layer, adapter)


def exported(model: Any, delta: Delta, path: Any = None) -> Any:
    """Add it to the weights, take the adapters off, and save the whole model."""
    put(model, delta)
    base = model.unload()
    if path is not None and hasattr(base, "save_pretrained"):
        base.save_pretrained(path)
    return base
