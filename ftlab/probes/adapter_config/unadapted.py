"""Weight matrices in the blocks that carry no adapter, and their share of the blocks.

"Linear-like" is what LoRA is meant for: the weight of a linear layer (PyTorch's, a
quantised one, GPT-2's Conv1D) and the fused three-dimensional weights of experts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import pattern_of, plain_modules
from ftlab.records.attributes import attribute_of

MANY = 64
"""At most so many exact names are kept of one pattern."""


@dataclass(slots=True)
class _Group:
    kind: str
    elements: int = 0
    names: list[str] = field(default_factory=list)
    adapted: int = 0


def block_weights(root: torch.nn.Module, prefix: str) -> list[dict[str, Any]]:
    """List the linear-like weights of the numbered blocks, one entry per pattern.

    Returns
    -------
    list
        ``pattern`` (of the module, or of the parameter for experts), ``kind``
        (``"linear"`` or ``"experts"``), ``count``, ``adapted`` (how many carry an
        adapter), ``share`` of all such elements, and ``names`` of those without one.
    """
    groups: dict[str, _Group] = {}
    for name, kind, elements, adapted in _weights(root):
        if "#" not in (pattern := pattern_of(name)):
            continue
        group = groups.setdefault(pattern, _Group(kind))
        group.elements += elements
        group.adapted += adapted
        if not adapted:
            group.names.append(f"{prefix}.{name}" if prefix else name)
        else:
            group.names.append("")
    total = sum(group.elements for group in groups.values()) or 1
    return [
        {
            "pattern": pattern,
            "kind": group.kind,
            "count": len(group.names),
            "adapted": group.adapted,
            "share": round(group.elements / total, 6),
            "names": [name for name in group.names if name][:MANY],
        }
        for pattern, group in groups.items()
    ]


def _weights(root: torch.nn.Module) -> Iterator[tuple[str, str, int, bool]]:
    """Yield name, kind, elements and whether there is an adapter on it."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, module in plain_modules(root):
        adapted: set[str] = set()
        inner: Any = module
        while isinstance(inner, BaseTunerLayer):
            adapted.add(str(attribute_of(inner, "parameter_name", "") or "weight"))
            inner = inner.base_layer
        if is_linear(inner):
            size = elements_of(attribute_of(inner, "weight"))
            yield name, "linear", size, "weight" in adapted
            continue
        if isinstance(inner, torch.nn.modules.conv._ConvNd):  # noqa: SLF001  their base
            continue
        for own, parameter in inner.named_parameters(recurse=False):
            if parameter.ndim == 3 and min(parameter.shape) > 1:
                size = elements_of(parameter)
                yield f"{name}.{own}", "experts", size, own in adapted


def is_linear(module: torch.nn.Module) -> bool:
    """Tell a linear layer, quantised or transposed ones included."""
    weight = attribute_of(module, "weight")
    if not isinstance(weight, torch.Tensor):
        return False
    return isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D"


def elements_of(parameter: torch.Tensor) -> int:
    """Count elements; a 4-bit weight packs two into each of its own."""
    state = getattr(parameter, "quant_state", None)
    return math.prod(getattr(state, "shape", None) or parameter.shape)
