"""Merges that somebody writes: what is added to the weights under an adapter."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from ftlab.faults.builders.around import loop_with
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case

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


def merged_for_evaluation(every: int, lr: float, *, taken_out: bool) -> Case:
    """Make the case of a LoRA that is merged by hand for an evaluation now and then.

    Parameters
    ----------
    every
        Steps between two evaluations.
    taken_out
        Whether what was added is taken out again.
    """
    model, made = lora(), batches()

    @torch.no_grad()
    def evaluate(done: int) -> None:
        if done and done % every == 0:
            put(model)
            with model.disable_adapter():
                model(**made[done % len(made)])
            if taken_out:
                put(model, sign=-1)

    return loop_with(model, adamw(model, lr), made, before=evaluate)
