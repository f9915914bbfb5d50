"""Weights of the base that learn because ``"lora"`` is found within their names."""

import re
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import bounded
from ftlab.probes.naming import NamedParameter, named_parameters, roles_of

WITHIN = re.compile(r"[a-z]lora[a-z]")
"""The letters within a longer word, such as ``exploration``; not ``qlora_A``."""

MATRIX = 2
"""Dimensions of a weight whose smaller side tells a factor of low rank."""


def lettered(model: torch.nn.Module) -> dict[str, Any]:
    """Name trainable weights of the base, where the letters alone explain all of them.

    Every parameter with ``lora`` in its name learns, and none without. Factors of
    somebody's own, which are as narrow as PEFT's, are meant to.
    """
    roles = roles_of(model)
    added = [
        (e, r) for e in named_parameters(model) if (r := roles.get(id(e.parameter)))
    ]
    factors = [e for e, role in added if role.role in ("lora_A", "lora_B")]
    own = {id(entry.parameter) for entry, role in added if role.adapter}
    base = [e for e in named_parameters(model) if id(e.parameter) not in own]
    learning = [entry for entry in base if entry.parameter.requires_grad]
    by_letters = [entry for entry in base if "lora" in entry.name]
    if (
        not factors
        or not learning
        or learning != by_letters
        or len(learning) == len(base)
    ):
        return {}
    narrow = max(min(each.parameter.shape) for each in factors)
    if not all(_is_base(entry, narrow) for entry in learning):
        return {}
    return bounded([entry.name for entry in learning])


def _is_base(entry: NamedParameter, narrow: int) -> bool:
    shape = entry.parameter.shape
    factor = len(shape) == MATRIX and min(shape) <= narrow
    return bool(WITHIN.search(entry.name)) and not factor
