"""Which side of quantisation adapters stand on: on quantised layers, or beside them."""

from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import bounded, plain_modules
from ftlab.probes.adapter_config.unadapted import is_linear
from ftlab.probes.tensors.base_norm import is_quantized

FEW = 64
"""At most so many names are kept of each kind."""


def quantised_layers(root: torch.nn.Module, prefix: str) -> dict[str, Any]:
    """Sort the linear layers by quantisation, and by whether they carry an adapter.

    Returns
    -------
    dict
        ``bare`` and ``adapted``, the quantised layers, and ``plain_bare`` and
        ``plain_adapted``, those in floating point; empty where nothing is quantised.
    """
    from peft.tuners.tuners_utils import BaseTunerLayer

    found: dict[str, list[str]] = {
        "bare": [],
        "adapted": [],
        "plain_bare": [],
        "plain_adapted": [],
    }
    for name, module in plain_modules(root):
        inner: Any = module
        while isinstance(inner, BaseTunerLayer):
            inner = inner.base_layer
        quantised = is_quantized(inner)
        if not (quantised or is_linear(inner)):
            continue
        side = "adapted" if inner is not module else "bare"
        kind = side if quantised else f"plain_{side}"
        found[kind].append(f"{prefix}.{name}" if prefix else name)
    if not (found["bare"] or found["adapted"]):
        return {}
    return {kind: bounded(names, FEW) for kind, names in found.items()}
