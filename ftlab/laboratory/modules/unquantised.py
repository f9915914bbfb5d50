"""Linear layers that were to be in few bits and are not, and the memory it costs.

What is skipped is read from the live quantiser where the model has it; else it follows
from the configuration as in transformers: the head, what is tied, the last module.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.laboratory.modules.storage import bytes_of, stored_as, weights_of
from ftlab.laboratory.modules.wrapping import pretrained
from ftlab.laboratory.quantisation import predicted_bytes
from ftlab.probes.plain import dtype_name
from ftlab.records.attributes import attribute_of
from ftlab.records.model_anatomy import Unquantised

BLOCK = 64
"""Weights with one scale, as bitsandbytes has it by default."""

FEW = frozenset({"4-bit", "8-bit"})


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a model's configuration asks for.

    Attributes
    ----------
    skipped
        Patterns of names that stay as they are; ``explicit`` if somebody wrote them.
    """

    bits: int
    nested: bool
    skipped: tuple[str, ...]
    explicit: bool


def unquantised(model: torch.nn.Module) -> tuple[Unquantised, ...]:
    """List linear layers in floating point of models that were to be in few bits."""
    found: dict[int, Unquantised] = {}
    for path, module in model.named_modules():
        asked = _asked(module) if pretrained(module) else None
        if asked is not None:
            layers = dict(_linears(module))
            each = _bytes_by_weight(layers)
            for name, layer in layers.items():
                if id(layer) not in found and stored_as(layer.weight) not in FEW:
                    whole = f"{path}.{name}" if path else name
                    found[id(layer)] = _described(whole, name, layer, asked, each)
    return tuple(found.values())


def _asked(model: Any) -> _Asked | None:
    config = getattr(attribute_of(model, "config"), "quantization_config", None)
    if config is None:
        return None
    get = config.get if isinstance(config, Mapping) else vars(config).get
    bits = [n for n in (4, 8) if get(f"load_in_{n}bit") or get(f"_load_in_{n}bit")]
    if not bits:
        return None
    live = getattr(attribute_of(model, "hf_quantizer"), "modules_to_not_convert", None)
    written = get("llm_int8_skip_modules")
    skipped = live if live is not None else written
    if skipped is None:
        skipped = list(_by_default(model))
    nested = bool(get("bnb_4bit_use_double_quant"))
    return _Asked(bits[0], nested, tuple(map(str, skipped)), written is not None)


def _by_default(model: Any) -> Iterator[str]:
    """Yield what transformers leaves as it is: the head, ties, the last module."""
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    yield names[-1].rpartition(".")[0]
    yield from getattr(model, "_tied_weights_keys", None) or ()
    head = model.get_output_embeddings()
    yield from (name for name, each in model.named_modules() if each is head)


def _linears(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield linear layers with their plain names; an adapter's own are left out."""
    for name, module in model.named_modules():
        parts = name.split(".")
        added = any(p.startswith("lora_") or p == "modules_to_save" for p in parts)
        linear = isinstance(module, torch.nn.Linear)
        if (linear or type(module).__name__ == "Conv1D") and not added:
            yield name, module


def _bytes_by_weight(layers: Mapping[str, Any]) -> float:
    """Return how many bytes a weight takes in the layers that are in few bits."""
    few = [m.weight for m in layers.values() if stored_as(m.weight) in FEW]
    weights = sum(map(weights_of, few))
    return sum(map(bytes_of, few)) / weights if weights else 0.0


def _described(
    path: str, name: str, layer: Any, asked: _Asked, each: float
) -> Unquantised:
    weights = int(layer.weight.numel())
    rows = layer.weight.shape[0]
    few = predicted_bytes(weights, BLOCK, nested=asked.nested)
    plain = ".".join(p for p in name.split(".") if p != "base_layer")
    return Unquantised(
        path,
        dtype_name(layer.weight.dtype),
        asked.bits,
        weights,
        bytes_of(layer.weight),
        int(few if asked.bits == 4 else weights + 4 * rows),
        int(each * weights),
        _why_skipped(plain, asked),
    )


def _why_skipped(name: str, asked: _Asked) -> str:
    """Say which entry skips a name, as transformers matches them; or nothing."""
    for key in asked.skipped:
        pattern = key.removesuffix(".weight")
        boundary = r"(?:(?<=\.)|(?=\.|$))"
        if re.match(rf"(?:{pattern}){boundary}", name) or name.endswith(pattern):
            source = "llm_int8_skip_modules" if asked.explicit else "by default"
            return f"{pattern} is skipped ({source})"
    return ""
