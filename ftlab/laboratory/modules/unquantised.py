"""Linear layers that were to be in few bits and are not, and the memory it costs.

What is skipped is read from the live quantiser where the model has it; else it follows
from the configuration as in transformers: the head, what is tied, the last module.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch

from ftlab.laboratory.modules.storage import bytes_of, stored_as, weights_of
from ftlab.laboratory.modules.wrapping import pretrained
from ftlab.laboratory.quantisation import predicted_bytes
from ftlab.probes.plain import dtype_name
from ftlab.records.attributes import attribute_of
from ftlab.records.model_anatomy import Unquantised

BLOCK = 64
"""Weights with one scale, as bitsandbytes has it by default."""

FEW = ("4-bit", "8-bit")


class _Asked(NamedTuple):
    bits: int
    nested: bool
    skipped: tuple[str, ...]
    source: str


def unquantised(model: torch.nn.Module) -> tuple[Unquantised, ...]:
    """List linear layers in floating point of models that were to be in few bits."""
    found: dict[int, Unquantised] = {}
    for path, module in model.named_modules():
        asked = _asked(module) if pretrained(module) else None
        layers = {} if asked is None else dict(_linears(module))
        few = [m.weight for m in layers.values() if stored_as(m.weight) in FEW]
        weights = sum(map(weights_of, few))
        each = sum(map(bytes_of, few)) / weights if weights else 0.0
        for name, layer in layers.items():
            if asked and id(layer) not in found and stored_as(layer.weight) not in FEW:
                made = _described(name, layer.weight, asked, each)
                whole = f"{path}.{name}" if path else name
                found[id(layer)] = Unquantised(whole, *made)
    return tuple(found.values())


def _asked(model: Any) -> _Asked | None:
    config = getattr(attribute_of(model, "config"), "quantization_config", None)
    get = (
        config if isinstance(config, Mapping) else getattr(config, "__dict__", {})
    ).get
    bits = [n for n in (4, 8) if get(f"load_in_{n}bit") or get(f"_load_in_{n}bit")]
    if not bits:
        return None
    written = get("llm_int8_skip_modules")
    live = getattr(attribute_of(model, "hf_quantizer"), "modules_to_not_convert", None)
    skipped = live if live is not None else written
    names = tuple(_by_default(model) if skipped is None else map(str, skipped))
    source = "by default" if written is None else "llm_int8_skip_modules"
    return _Asked(bits[0], bool(get("bnb_4bit_use_double_quant")), names, source)


def _by_default(model: Any) -> Iterator[str]:
    """Yield what transformers leaves as it is: the head, ties, the last module."""
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    yield names[-1].rpartition(".")[0]
    yield from getattr(model, "_tied_weights_keys", None) or ()
    head = model.get_output_embeddings()
    yield from (name for name, each in model.named_modules() if each is head)


def _linears(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield linear layers; an adapter's own are left out."""
    for name, module in model.named_modules():
        linear = isinstance(module, torch.nn.Linear)
        added = re.search(r"(^|\.)(lora_|modules_to_save\.)", name)
        if (linear or type(module).__name__ == "Conv1D") and not added:
            yield name, module


def _described(name: str, weight: Any, asked: _Asked, each: float) -> tuple[Any, ...]:
    count, there, kind = weights_of(weight), bytes_of(weight), dtype_name(weight.dtype)
    few = predicted_bytes(count, BLOCK, nested=asked.nested)
    predicted = int(few if asked.bits == 4 else count + 4 * weight.shape[0])
    skipped = _why_skipped(name.replace(".base_layer", ""), asked)
    return kind, asked.bits, there, predicted, int(each * count), skipped


def _why_skipped(name: str, asked: _Asked) -> str:
    """Say which entry skips a name, as transformers matches them; or nothing."""
    for key in asked.skipped:
        pattern = key.removesuffix(".weight")
        boundary = r"(?:(?<=\.)|(?=\.|$))"
        if re.match(rf"(?:{pattern}){boundary}", name) or name.endswith(pattern):
            return f"{pattern} is skipped ({asked.source})"
    return ""
