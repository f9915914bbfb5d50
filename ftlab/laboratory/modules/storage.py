"""How a module keeps its weights: dtypes, few bits, bytes; no value is read."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.plain import dtype_name
from ftlab.records.attributes import attribute_of

PACKED = {
    "qweight": "GPTQ",
    "W_q": "HQQ",
    "weight_packed": "compressed-tensors",
    "codebooks": "AQLM",
}
"""Names of the tensors in which libraries pack a weight; AWQ has GPTQ's, and no
``g_idx``."""


@dataclass(slots=True)
class Storage:
    """What a module keeps itself, or with all that is below it.

    Attributes
    ----------
    dtypes, devices
        Elements by dtype and by device.
    stored
        Bytes by how it is stored.
    """

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
        if learns is not None:
            self.weights += weights
            self.trainable += weights if learns else 0

    def add(self, other: "Storage") -> None:
        """Count what is below."""
        self.weights += other.weights
        self.trainable += other.trainable
        self.stored.update(other.stored)


def weights_of(tensor: Any) -> int:
    """Count elements; a 4-bit weight packs two into each of its own."""
    state = getattr(tensor, "quant_state", None)
    return int((getattr(state, "shape", None) or tensor.shape).numel())


def bytes_of(tensor: Any) -> int:
    """Count the bytes of a tensor on this rank, with its scales."""
    if hasattr(tensor, "to_local"):  # one part of it is here
        tensor = tensor.detach().to_local()
    return int(tensor.nbytes) + sum(each.nbytes for each in scales_of(tensor))


def scales_of(tensor: Any) -> Iterator[torch.Tensor]:
    """Yield what bitsandbytes keeps beside a weight: scales, code books, offsets."""
    state = getattr(tensor, "quant_state", None)
    for each in (state, getattr(state, "state2", None)):
        if each is not None:
            yield from (each.absmax, each.code)
    if getattr(state, "nested", False):
        yield state.offset
    scale = getattr(tensor, "SCB", None)
    if isinstance(scale, torch.Tensor):
        yield scale


def stored_as(tensor: Any) -> str:
    """Name how a tensor is stored: its dtype, or how many bits."""
    kind = type(tensor).__name__
    named = {"Params4bit": "4-bit", "Int8Params": "8-bit"}.get(kind)
    return named or _of_torchao(tensor) or dtype_name(tensor.dtype)


def _of_torchao(tensor: Any) -> str:
    """Return the class of a weight that is a tensor of a library's own."""
    kind = type(getattr(tensor, "data", tensor))
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package in ("torchao", "optimum") else ""


def quantised_as(module: Any, own: Mapping[str, Any]) -> str:
    """Say how a module's weight is kept in few bits, by what is there; or nothing."""
    packed = next((name for name in PACKED if name in own), "")
    if packed:
        return _packed_as(module, own, packed)
    weight = own.get("weight")
    kind = type(weight).__name__
    if kind == "Params4bit":
        return _four_bits(module, weight)
    if kind == "Int8Params":
        packed_now = weight.dtype == torch.int8
        return "8-bit (bitsandbytes)" + ("" if packed_now else ", not packed yet")
    if weight is None:
        return ""
    library = _of_torchao(weight)
    few = weight.element_size() == 1 and weight.dtype != torch.bool
    return library or (dtype_name(weight.dtype) if few else "")


def _four_bits(module: Any, weight: Any) -> str:
    state = getattr(weight, "quant_state", None)
    if state is None:
        return f"4-bit {getattr(weight, 'quant_type', '')}, not packed yet"
    words = [f"4-bit {state.quant_type}", f"blocks of {state.blocksize}"]
    words += ["scales quantised too"] if getattr(state, "nested", False) else []
    compute = attribute_of(module, "compute_dtype")
    words += [f"computes in {dtype_name(compute)}"] if compute is not None else []
    return ", ".join(words)


def _packed_as(module: Any, own: Mapping[str, Any], name: str) -> str:
    method = PACKED[name]
    if name == "qweight" and ("awq" in type(module).__name__.lower() or _no_order(own)):
        method = "AWQ"
    weights = packed_weights(module, own)
    bits = 8 * own[name].nbytes / weights if weights else 0
    return f"{method}, {bits:.3g}-bit" if bits else method


def _no_order(own: Mapping[str, Any]) -> bool:
    return "g_idx" not in own


def packed_weights(module: Any, own: Mapping[str, Any]) -> int:
    """Count the weights that a buffer holds packed; 0 where there is none."""
    if not any(name in own for name in PACKED):
        return 0
    sides = (attribute_of(module, f"{side}_features") for side in ("in", "out"))
    first, second = (each if isinstance(each, int) else 0 for each in sides)
    return first * second
