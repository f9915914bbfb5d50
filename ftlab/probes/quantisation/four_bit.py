"""What becomes of 4-bit weights on a CPU: packed for inference, saved, merged.

Where a CPU has AVX512-BF16, bitsandbytes rewrites a 4-bit weight for a faster kernel at
the first forward in eval mode, and leaves it so. That kernel has no backward. PEFT
reads the packed bytes as if they were not. ``state_dict`` unpacks them with the scales
of other blocks where a row has more than one block.
"""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import Handle

TABLE = "four_bit"


class FourBit(Probe):
    """Count packed weights at each step, and name those that are read in that state."""

    def __init__(self) -> None:
        self._layers: list[tuple[str, torch.nn.Module]] = []

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Look for 4-bit layers."""
        self._layers = list(four_bit_layers(subject.model))
        return ()

    def on_batch(self, moment: Moment, inputs: dict[str, Any]) -> Iterable[Reading]:
        """Name the layers that a training forward is about to use packed."""
        self.rests = not self._layers
        if moment.subject.model.training:
            for path, module in self._layers:
                if is_packed(module):
                    moment.name(
                        TABLE, f"{path} in training", "module", _is(path, "trained")
                    )
        return ()

    def on_merge(
        self, moment: Moment, layer: Any, path: str, when: str
    ) -> Iterable[Reading]:
        """Name a layer whose packed weight is about to be merged into."""
        base = attribute_of(layer, "base_layer")
        if when == "before merge" and is_packed(base):
            moment.name(TABLE, f"{path} in a merge", "module", _is(path, "merged"))
        return ()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the number of packed weights, and name those that saving has broken."""
        if not self._layers:
            return {}
        for path, module in self._layers:
            if is_mixed_up(module):
                moment.name(TABLE, f"{path} when saved", "module", _is(path, "saved"))
        packed = sum(is_packed(module) for _, module in self._layers)
        return {"packed_4bit": float(packed)}


def _is(path: str, what: str) -> dict[str, str]:
    return {"module": path, "what": what}


def four_bit_layers(
    model: torch.nn.Module,
) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield linear layers whose weight is in 4 bits, a PEFT layer's base as the layer.

    Their class is told by name, so that bitsandbytes is not imported for this.
    """
    if "bitsandbytes.nn.modules" not in sys.modules:
        return
    for path, module in model.named_modules():
        if is_four_bit(dict(module.named_parameters(recurse=False)).get("weight")):
            yield clean_name(path.removesuffix(".base_layer")), module


def is_four_bit(weight: Any) -> bool:
    """Tell whether a tensor is a weight that bitsandbytes keeps in 4 bits."""
    return type(weight).__name__ == "Params4bit"


def is_packed(module: Any) -> bool:
    """Tell whether a 4-bit weight is written for the kernel without a backward."""
    if module is None:
        return False
    return is_packed_weight(dict(module.named_parameters(recurse=False)).get("weight"))


def is_packed_weight(weight: Any) -> bool:
    """Tell the same of the weight itself."""
    state = getattr(weight, "quant_state", None)
    return getattr(state, "packing_format_for_cpu", False) is True


def is_mixed_up(module: Any) -> bool:
    """Tell whether a weight was unpacked and its scales were not.

    Those of a packed weight stand in a table of blocks by rows, all others in a line.
    """
    state = getattr(attribute_of(module, "weight"), "quant_state", None)
    scales = getattr(state, "absmax", None)
    if not isinstance(scales, torch.Tensor) or is_packed(module):
        return False
    return scales.dim() == 2 and scales.shape[0] > 1


def can_be_packed(module: Any) -> bool:
    """Tell whether a forward in eval mode would pack this layer's weight."""
    on = attribute_of(module, "support_avx512bf16_for_cpu", False)
    return bool(on) and attribute_of(module, "weight").device.type == "cpu"


@contextlib.contextmanager
def never_packed(model: torch.nn.Module) -> Iterator[None]:
    """Keep bitsandbytes from packing 4-bit weights at a first evaluation on a CPU.

    It does so for good, and they no longer train.
    """
    name = "support_avx512bf16_for_cpu"
    held = [(m, vars(m)[name]) for m in model.modules() if name in vars(m)]
    try:
        for module, _ in held:
            setattr(module, name, False)
        yield
    finally:
        for module, was in held:
            setattr(module, name, was)
