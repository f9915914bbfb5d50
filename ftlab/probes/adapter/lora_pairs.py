"""Where a model's LoRA pairs are, found through PEFT's own layer classes."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.inventory import spots_of
from ftlab.records.attributes import attribute_of


@dataclass(frozen=True, slots=True)
class LoraPair:
    """The A and B of one adapter in one layer, as matrices.

    Attributes
    ----------
    name
        Clean module path and adapter: ``"model.layers.0.self_attn.q_proj [default]"``.
    a, b
        Detached views of shape ``(r, in)`` and ``(out, r)``; a convolution's kernel
        counts as input. ``None`` where `reason` says why the pair is not measured.
    parameters
        The parameters behind ``a`` and ``b``.
    magnitude
        DoRA's magnitude vector, or ``None``.
    base
        The layer that the adapter was put on.
    reason
        Why the product is not measured, ``""`` where it is.
    """

    name: str
    module: str
    adapter: str
    layer: Any
    a: torch.Tensor | None
    b: torch.Tensor | None
    parameters: tuple[torch.nn.Parameter, torch.nn.Parameter]
    magnitude: torch.Tensor | None
    base: torch.nn.Module
    reason: str = ""

    @property
    def scaling(self) -> float:
        """Factor between B A and what is added to the base weight."""
        return float(self.layer.scaling.get(self.adapter, 1.0))


def lora_pairs(model: torch.nn.Module) -> Iterator[LoraPair]:
    """Find the pairs of all adapters, also of those that are inactive or merged."""
    if "peft" not in sys.modules:
        return
    from peft.tuners.lora.layer import LoraLayer

    found: set[int] = set()
    for spot in spots_of(model):
        module = spot.module()
        if isinstance(module, LoraLayer) and id(module) not in found:
            found.add(id(module))  # one that stands at two places has one name
            yield from pairs_of_layer(module, spot.path)


def pairs_of_layer(layer: Any, path: str) -> Iterator[LoraPair]:
    """Find the pairs of one layer; nothing in a layer that has none."""
    for prefix in ("lora_", "lora_embedding_"):
        yield from _pairs_of(layer, path, prefix)


def _pairs_of(layer: Any, path: str, prefix: str) -> Iterator[LoraPair]:
    tops = attribute_of(layer, f"{prefix}A", {})
    bottoms = attribute_of(layer, f"{prefix}B", {})
    for adapter in tops:
        if adapter not in bottoms:
            continue
        a, b = _weight(tops[adapter]), _weight(bottoms[adapter])
        if a is None or b is None:
            continue
        reason = _reason(layer, a, b)
        down, up = (None, None) if reason else _matrices(a, b)
        yield LoraPair(
            name=f"{path} [{adapter}]",
            module=path,
            adapter=adapter,
            layer=layer,
            a=down,
            b=up,
            parameters=(a, b),
            magnitude=_magnitude(layer, adapter),
            base=layer.get_base_layer(),
            reason=reason,
        )


def _weight(entry: Any) -> Any:
    """Parameter of one part: PEFT keeps modules for linear, parameters for others."""
    return entry if isinstance(entry, torch.Tensor) else attribute_of(entry, "weight")


def _reason(layer: Any, a: torch.Tensor, b: torch.Tensor) -> str:
    own = vars(layer)
    if "lora_E" in own["_modules"]:
        return "AdaLoRA scales each rank by itself"
    if own.get("num_experts", 1) != 1:
        return "one pair holds several experts"
    if a.is_meta or b.is_meta or 0 in (a.numel(), b.numel()):
        return "the adapter's weights are offloaded"
    if type(a.data) is not torch.Tensor or type(b.data) is not torch.Tensor:
        return f"the adapter's weights are {type(a.data).__name__}, a part of the whole"
    return ""


def _matrices(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """View both as matrices; grouped convolutions keep B as blocks."""
    down, up = a.detach().flatten(1), b.detach().flatten(1)
    if up.shape[1] != down.shape[0]:
        up = torch.block_diag(*up.chunk(down.shape[0] // up.shape[1]))
    return down, up


def _magnitude(layer: Any, adapter: str) -> torch.Tensor | None:
    vectors = attribute_of(layer, "lora_magnitude_vector")
    if not vectors or adapter not in vectors:
        return None
    weight = _weight(vectors[adapter])
    return None if weight is None or weight.is_meta else weight.detach()


def is_rslora(pair: LoraPair) -> bool:
    """Tell whether a pair is scaled by alpha / sqrt(r)."""
    flags = attribute_of(pair.layer, "use_rslora")
    if flags is not None:
        return bool(flags.get(pair.adapter, False))
    # Older PEFT (0.17) keeps the flag in its config only; the scaling gives it away.
    r, alpha = pair.layer.r.get(pair.adapter, 0), pair.layer.lora_alpha
    by_root = alpha.get(pair.adapter, 0) / math.sqrt(max(r, 1))
    return r > 1 and math.isclose(pair.scaling, by_root)
