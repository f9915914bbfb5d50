"""Whether embedding and head are one tensor where the model's configuration says so."""

from typing import Any

import torch

from ftlab.probes.naming import named_parameters
from ftlab.probes.plain import dtype_name
from ftlab.records.attributes import attribute_of, has_attribute


def untied_weights(model: torch.nn.Module) -> list[dict[str, Any]]:
    """Find heads that are tied by configuration, and are a tensor of their own.

    What PEFT keeps as copies is followed to the copy that is active. Pairs of two
    shapes, and quantised heads, are two on purpose.

    Returns
    -------
    list
        Of each model within the model: the names of ``input`` and ``output``, which of
        them are ``trainable``, their ``dtypes``, and whether ``copies`` of PEFT are
        meant by ``"both"``, ``"one"`` or ``"none"`` of the names.
    """
    names: dict[int, str] = {}
    found, seen = [], set()
    for module in model.modules():
        if not _says_tied(module):
            continue
        sides = [_weight(_embeddings(module, which)) for which in ("input", "output")]
        (words, first), (head, second) = sides
        if words is None or head is None or words is head:
            continue
        if not _comparable(words, head) or (id(words), id(head)) in seen:
            continue
        seen.add((id(words), id(head)))
        names = names or {id(e.parameter): e.name for e in named_parameters(model)}
        pair = [(names.get(id(each), ""), each) for each in (words, head)]
        found.append(
            {
                "input": pair[0][0],
                "output": pair[1][0],
                "trainable": [name for name, each in pair if each.requires_grad],
                "dtypes": [dtype_name(each.dtype) for _, each in pair],
                "copies": ("none", "one", "both")[first + second],
            }
        )
    return found


def _says_tied(module: torch.nn.Module) -> bool:
    """Tell whether a model ties its head: its class can, and its configuration asks."""
    if not attribute_of(module, "_tied_weights_keys"):
        return False
    config: Any = attribute_of(module, "config")
    text = getattr(config, "get_text_config", None)
    asked: Any = text() if callable(text) else config
    return getattr(asked, "tie_word_embeddings", None) is True


def _embeddings(module: Any, which: str) -> Any:
    try:
        return getattr(module, f"get_{which}_embeddings")()
    except (AttributeError, NotImplementedError):
        return None


def _weight(module: Any) -> tuple[torch.nn.Parameter | None, bool]:
    """Return the weight that is computed with, and whether it is a copy of PEFT's."""
    copied = False
    while module is not None:
        copies = attribute_of(module, "modules_to_save")
        if isinstance(copies, torch.nn.ModuleDict):
            active = [each for each in module.active_adapters if each in copies]
            copied = bool(active)
            module = copies[active[0]] if active else module.original_module
        elif has_attribute(module, "base_layer"):
            module = module.base_layer
        elif isinstance(attribute_of(module, "original_module"), torch.nn.Module):
            module = module.original_module
        else:
            break
    weight = attribute_of(module, "weight")
    return (weight if isinstance(weight, torch.nn.Parameter) else None), copied


def _comparable(one: torch.nn.Parameter, other: torch.nn.Parameter) -> bool:
    plain = all(
        type(each.data) is torch.Tensor and each.is_floating_point() and each.numel()
        for each in (one, other)
    )
    same = one.shape == other.shape and one.device == other.device
    apart = one.is_meta or one.data_ptr() != other.data_ptr()
    return plain and same and apart and not one.is_meta
