"""Heads whose weight is quantised: the output embeddings, and heads of a task.

transformers leaves heads in floating point unless it is given a list of what to skip;
then that list is all that is skipped. A loop that swaps linear layers skips nothing.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.naming import clean_name
from ftlab.probes.tensors.base_norm import base_norm, is_quantized
from ftlab.records.attributes import attribute_of, has_attribute

DEVIATIONS = 4.0
"""Standard errors up to which a deviation counts as that drawn from."""

ROUNDING = 0.03
"""Relative error of a deviation that 4 bits add.

Measured over 100 heads each: at most 0.03 for 2 x 64 weights in NF4 and 0.04 in FP4
(where the standard errors leave 0.25), below 0.01 from 64 x 256 on.
"""


def quantised_heads(model: torch.nn.Module) -> list[dict[str, Any]]:
    """Describe the quantised heads of a model.

    Returns
    -------
    list
        ``module``, ``kind`` (``"output"`` or ``"task"``), ``bits``, ``shape``,
        ``adapted`` (PEFT has put something on it), ``std``, ``drawn_with`` (the
        deviation of an initialisation that fits, or ``None``).
    """
    return [_describe(*each) for each in _heads(model)]


def _heads(model: torch.nn.Module) -> Iterator[tuple[str, Any, str, bool, Any]]:
    """Yield path, layer, kind, whether it is adapted, and the configuration."""
    root, prefix = _root(model)
    body = attribute_of(root, "base_model_prefix", "")
    body = body if isinstance(body, str) and body and has_attribute(root, body) else ""
    rows = _vocabulary(root)
    for path, module in root.named_modules():
        parts = clean_name(path).split(".")
        if not _is_quantised_linear(module) or any(p.isdigit() for p in parts):
            continue
        adapted = "base_layer" in parts
        name = ".".join(part for part in parts if part != "base_layer")
        within = bool(body) and parts[0] == body
        if within or "lora_A" in parts or "lora_B" in parts:
            continue
        many = int(module.out_features)
        kind = "output" if many == rows else "task"
        if kind == "task" and not body and many >= module.in_features:
            continue
        full = f"{prefix}.{name}" if prefix else name
        yield full, module, kind, adapted, attribute_of(root, "config")


def _root(model: Any) -> tuple[Any, str]:
    """Return the model within PEFT's wrapper, and its path."""
    if has_attribute(model, "get_base_model"):
        root = model.get_base_model()
        for path, module in model.named_modules():
            if module is root:
                return root, clean_name(path)
    return model, ""


def _is_quantised_linear(module: Any) -> bool:
    return isinstance(module, torch.nn.Linear) and is_quantized(module)


def _vocabulary(root: Any) -> int:
    found = (m for m in root.modules() if isinstance(m, torch.nn.Embedding))
    first = next(found, None)
    return -1 if first is None else int(first.num_embeddings)


def _describe(
    path: str, module: Any, kind: str, adapted: bool, config: Any
) -> dict[str, Any]:
    shape = [int(module.out_features), int(module.in_features)]
    norm = base_norm(module)
    std = math.nan if norm is None else float(norm) / math.sqrt(math.prod(shape))
    eight = type(attribute_of(module, "weight")).__name__ == "Int8Params"
    return {
        "module": path,
        "kind": kind,
        "bits": 8 if eight else 4,
        "shape": shape,
        "adapted": adapted,
        "std": std,
        "drawn_with": _drawn_with(std, shape, config),
    }


def _drawn_with(std: float, shape: list[int], config: Any) -> float | None:
    """Return the deviation of the initialisation that the weight may come from."""
    range_ = getattr(config, "initializer_range", None)
    own = 1 / math.sqrt(3 * shape[1])  # a uniform distribution, of nn.Linear itself
    spread = DEVIATIONS / math.sqrt(2 * math.prod(shape)) + ROUNDING
    known = [own, range_] if isinstance(range_, int | float) and range_ > 0 else [own]
    fitting = (each for each in known if abs(std / each - 1) <= spread)
    return next((float(each) for each in fitting), None)
