"""Whole modules that adapters have trained, and that their combination has not got."""

import sys
from collections.abc import Sequence

import torch


def heads_left(model: torch.nn.Module, name: str, sources: Sequence[str]) -> bool:
    """Tell whether a source has a module of its own where ``name`` has the base's."""
    if "peft" not in sys.modules:
        return False
    from peft.utils.other import ModulesToSaveWrapper

    for module in model.modules():
        if isinstance(module, ModulesToSaveWrapper):
            copies, base = module.modules_to_save, module.original_module
            if name in copies and not _same(copies[name], base):
                continue
            if any(s in copies and not _same(copies[s], base) for s in sources):
                return True
    return False


def _same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Tell whether all values are the same; where they cannot be read they are."""
    pairs = list(zip(one.parameters(), other.parameters(), strict=False))
    readable = [(a, b) for a, b in pairs if not (a.is_meta or b.is_meta)]
    return all(torch.equal(a, b.to(a.device)) for a, b in readable)
