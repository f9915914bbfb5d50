"""How a module keeps its weights: dtypes, few bits, bytes; no value is read."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.plain import dtype_name
from ftlab.records.attributes import attribute_of

PACKED = {"qweight": "GPTQ", "W_q": "HQQ", "codebooks": "AQLM"}
PACKED |= {"weight_packed": "compressed-tensors"}
"""Tensors in which libraries pack a weight; AWQ has GPTQ's, and no ``g_idx``."""


@dataclass(slots=True)
class Storage:
    """What a module keeps: elements by dtype and device, bytes by how it is stored."""

    weights: int = 0
    trainable: int = 0
    dtypes: Counter[str] = field(default_factory=Counter)
    devices: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)

    def take(self, tensor: Any, *, learns: bool | None = None) -> None:
        """Count a tensor; ``learns`` is ``None`` for a buffer."""
        weights = weights_of(tensor)
        self.dtypes[dtype_name(tensor.dtype)] += max(weights, 1)
        self.devices[str(tensor.device)] += max(weights, 1)
        self.stored[stored_as(tensor)] += bytes_of(tensor)
        self.weights += 0 if learns is None else weights
        self.trainable += weights if learns else 0

    def add(self, other: "Storage") -> None:
        """Count what is below."""
        self.weights += other.weights
        self.trainable += other.trainable
        self.stored.update(other.stored)


def weights_of(tensor: Any) -> int:
    """Count elements: packed ones are several, those of a lazy layer are not there."""
    if torch.nn.parameter.is_lazy(tensor):
        return 0
    state = getattr(tensor, "quant_state", None)
    return int((getattr(state, "shape", None) or tensor.shape).numel())


def bytes_of(tensor: Any) -> int:
    """Count the bytes of a tensor on this rank, with its scales."""
    if hasattr(tensor, "to_local"):  # one part of it is here
        tensor = tensor.detach().to_local()
    weights = weights_of(tensor)
    if not weights or tensor.layout is not torch.strided:  # a sparse one as if dense
        return weights and weights * int(tensor.element_size())
    return int(tensor.nbytes) + sum(each.nbytes for each in _scales(tensor))


def _scales(tensor: Any) -> Iterator[torch.Tensor]:
    state: Any = getattr(tensor, "quant_state", None)
    if state is not None:
        yield from (state.absmax, state.code)
    if getattr(state, "nested", False):
        yield from (state.state2.absmax, state.state2.code, state.offset)
    if isinstance(scale := getattr(tensor, "SCB", None), torch.Tensor):
        yield scale


def stored_as(tensor: Any) -> str:
    """Name how a tensor is stored: its dtype, or how many bits."""
    named = {"Params4bit": "4-bit", "Int8Params": "8-bit"}.get(type(tensor).__name__)
    return named or _own_class(tensor) or dtype_name(tensor.dtype)


def _own_class(tensor: Any) -> str:
    """Return the class of a weight that is a tensor of torchao's or quanto's own."""
    kind = type(getattr(tensor, "data", tensor))
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package in ("torchao", "optimum") else ""


def quantised_as(module: Any, own: Mapping[str, Any]) -> str:
    """Say how a module's weight is kept in few bits, by what is there; or nothing."""
    if name := next((each for each in PACKED if each in own), ""):
        awq = "awq" in type(module).__name__.lower() or "g_idx" not in own
        method = "AWQ" if name == "qweight" and awq else PACKED[name]
        weights = packed_weights(module, own)
        bits = f", {8 * own[name].nbytes / weights:.3g}-bit" if weights else ""
        return method + bits
    weight = own.get("weight")
    if weight is None:
        return ""
    kind, few = type(weight).__name__, weight.dtype.itemsize == 1
    if kind == "Params4bit":
        return _four_bits(module, weight)
    if kind == "Int8Params":
        return "8-bit (bitsandbytes)" + ("" if few else ", not packed yet")
    few = few and weight.dtype != torch.bool
    return _own_class(weight) or (dtype_name(weight.dtype) if few else "")


def _four_bits(module: Any, weight: Any) -> str:
    state = getattr(weight, "quant_state", None)
    if state is None:
        return f"4-bit {getattr(weight, 'quant_type', '')}, not packed yet"
    words = [f"4-bit {state.quant_type}", f"blocks of {state.blocksize}"]
    words += ["scales quantised too"] if getattr(state, "nested", False) else []
    compute = attribute_of(module, "compute_dtype")
    words += [f"computes in {dtype_name(compute)}"] if compute is not None else []
    return ", ".join(words)


def packed_weights(module: Any, own: Mapping[str, Any]) -> int:
    """Count the weights that a buffer holds packed; 0 where there is none."""
    if PACKED.keys().isdisjoint(own):
        return 0
    sides = (attribute_of(module, f"{side}_features", 0) for side in ("in", "out"))
    return math.prod(sides)
