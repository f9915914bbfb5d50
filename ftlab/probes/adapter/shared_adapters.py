"""Adapters of one model whose factors lie in the same memory."""

from itertools import combinations
from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.naming import clean_name


def shared_adapters(model: torch.nn.Module) -> list[dict[str, Any]]:
    """Find two adapters that are one: both factors of a pair have the same address.

    One factor alone is shared on purpose, by several tasks that have an A in common.

    Returns
    -------
    list
        For every two such adapters their names (``adapters``), ``pairs``, how many of
        them are ``shared``, whether any of it is ``trainable``, and the ``tensors`` of
        the shared pairs, those that are not trainable first.
    """
    layers: dict[str, list[LoraPair]] = {}
    for pair in lora_pairs(model):
        layers.setdefault(pair.module, []).append(pair)
    if all(len(pairs) < 2 for pairs in layers.values()):
        return []
    known = dict(model.named_parameters(remove_duplicate=False))
    names = {clean_name(name): p.requires_grad for name, p in known.items()}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path, pairs in layers.items():
        for one, other in combinations(pairs, 2):
            both = (one.adapter, other.adapter)
            row = found.setdefault(
                both, {"adapters": list(both), "pairs": 0, "shared": 0, "tensors": []}
            )
            row["pairs"] += 1
            if _are_one(one, other):
                row["shared"] += 1
                row["tensors"] += _tensors(names, path, both)
    for row in found.values():
        row["tensors"].sort(key=lambda name: names[name])
        row["trainable"] = any(names[name] for name in row["tensors"])
    return [row for row in found.values() if row["shared"]]


def _are_one(one: LoraPair, other: LoraPair) -> bool:
    halves = zip(one.parameters, other.parameters, strict=True)
    return all(
        _address(a) is not None and _address(a) == _address(b) for a, b in halves
    )


def _address(tensor: torch.Tensor) -> tuple[int, torch.Size] | None:
    if tensor.is_meta or not tensor.numel():
        return None
    return tensor.data_ptr(), tensor.shape


def _tensors(names: dict[str, bool], path: str, adapters: tuple[str, str]) -> list[str]:
    """Name the factors of two adapters in one layer."""
    return [
        name
        for name in names
        if name.startswith(f"{path}.lora_")
        and any(part in adapters for part in name.removeprefix(path).split("."))
    ]
