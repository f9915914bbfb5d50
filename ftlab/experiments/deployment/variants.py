"""What goes wrong on the way, done to the live model to see if it answers so."""

import contextlib
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import torch

from ftlab.executions.pairs import evaluating


class Variant(NamedTuple):
    """The live model with one thing wrong.

    Attributes
    ----------
    words
        What is wrong: ``"without its adapter"``.
    within
        Puts it wrong while it is open.
    fix
        What to do.
    """

    words: str
    within: Callable[[], AbstractContextManager[Any]]
    fix: str


def variants(model: Any) -> Iterator[Variant]:
    """Yield what applies to a model."""
    if hasattr(model, "disable_adapter"):
        yield Variant(
            "without its adapter",
            model.disable_adapter,
            "Load the adapter as well, under the name that requests ask for.",
        )
        yield from _scaled(model)
    kept = [m for m in model.modules() if hasattr(m, "original_module")]
    if kept:
        yield Variant(
            "without what was trained beside its adapter (modules_to_save)",
            partial(_switched_off, kept),
            "Save the whole of modules_to_save, and load it where it is served; some "
            "servers load LoRA matrices alone: merge for those.",
        )
    rotary = [
        (name, module)
        for name, module in model.named_modules()
        if getattr(module, "rope_type", "default") != "default"
    ]
    if rotary:
        yield Variant(
            "without its RoPE scaling",
            partial(_plain_rope, rotary),
            "Serve it with the rope_parameters of the live model's config.",
        )


def _scaled(model: Any) -> Iterator[Variant]:
    layers = [m for m in model.modules() if isinstance(_scaling(m), dict) and m.scaling]
    if not layers:
        return
    fix = "Merge once: either serve the merged model, or the base with the adapter."
    yield Variant("with its adapter added twice", partial(_times, layers, _twice), fix)
    rooted = any(getattr(m, "use_rslora", None) for m in layers) or any(
        getattr(each, "use_rslora", False) for each in model.peft_config.values()
    )
    words = "with its adapter scaled by alpha / " + ("r" if rooted else "sqrt(r)")
    fix = "Serve with the adapter's own use_rslora, or merge before."
    change = partial(_rooted, -1 if rooted else 1)
    yield Variant(words, partial(_times, layers, change), fix)


def _scaling(module: Any) -> Any:
    return vars(module).get("scaling")


def _twice(_layer: Any, _adapter: str) -> float:
    return 2.0


def _rooted(power: int, layer: Any, adapter: str) -> float:
    return math.sqrt(layer.r[adapter]) ** power if adapter in layer.r else 1.0


@contextlib.contextmanager
def _times(layers: list[Any], factor: Callable[[Any, str], float]) -> Iterator[None]:
    before = [dict(layer.scaling) for layer in layers]
    try:
        for layer in layers:
            for adapter in layer.scaling:
                layer.scaling[adapter] *= factor(layer, adapter)
        yield
    finally:
        for layer, was in zip(layers, before, strict=True):
            layer.scaling.update(was)


@contextlib.contextmanager
def _switched_off(kept: list[Any]) -> Iterator[None]:
    name = "_disable_adapters"
    before = [getattr(module, name, False) for module in kept]
    try:
        for module in kept:
            setattr(module, name, True)
        yield
    finally:
        for module, was in zip(kept, before, strict=True):
            setattr(module, name, was)


@contextlib.contextmanager
def _plain_rope(rotary: list[tuple[str, Any]]) -> Iterator[None]:
    before = [(m, m.inv_freq, m.attention_scaling) for _, m in rotary]
    try:
        for module, was, _ in before:
            theta = _theta(module.config)
            spaced = torch.arange(len(was), device=was.device, dtype=torch.float32)
            module.inv_freq = theta ** -(spaced / len(was))
            module.attention_scaling = 1.0
        yield
    finally:
        for module, was, scale in before:
            module.inv_freq, module.attention_scaling = was, scale


def _theta(config: Any) -> float:
    held = getattr(config, "rope_parameters", None) or {}
    theta = held.get("rope_theta") or getattr(config, "rope_theta", None)
    return float(theta or 10000.0)


NEAR = 0.1
"""Share of a difference that a variant may leave, to be what explains it."""


def explained(
    model: Any,
    logits: Callable[[], torch.Tensor],
    theirs: torch.Tensor,
) -> Variant | None:
    """Return the variant of the live model that gives what a station gives.

    Parameters
    ----------
    model
        The live one.
    logits
        Computes those of the live model, shape (tokens, vocabulary) or any other that
        ``theirs`` has.
    theirs
        Of the station.
    """
    with evaluating(model):
        apart = float((logits() - theirs).norm())
        best, found = NEAR * apart, None
        for variant in variants(model):
            with variant.within():
                left = float((logits() - theirs).norm())
            if left < best:
                best, found = left, variant
    return found
