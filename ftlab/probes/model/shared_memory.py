"""Frozen parameters that are the very memory of parameters that are trained.

``reference.data = policy.data`` and ``load_state_dict(..., assign=True)`` copy nothing.
The two are parameters of their own, so that nothing looks shared; each update changes
both.
"""

from collections import defaultdict
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import bounded
from ftlab.probes.naming import NamedParameter, named_parameters, roles_of

FEWEST = 2
"""Tensors from which on it is a copy of something, and no trick with one tensor."""


def shared_memory(model: torch.nn.Module) -> dict[str, Any]:
    """Find frozen parameters that lie in the memory of trainable ones.

    Only tensors of one shape, one layout and one address count: parts of a flat buffer
    lie beside one another, and views of another shape are made on purpose. A single
    parameter with two names is tied, not shared. For LoRA's factors see
    `ftlab.probes.adapter.shared_adapters`.

    Returns
    -------
    dict
        Empty where there are fewer than two. ``frozen`` and ``trained`` in one order.
    """
    by_place: dict[tuple[Any, ...], list[NamedParameter]] = defaultdict(list)
    roles = roles_of(model)
    for entry in named_parameters(model):
        role = roles.get(id(entry.parameter))
        factor = role is not None and role.role.startswith("lora_")
        place = None if factor else _place(entry.parameter)
        if place is not None:
            by_place[place].append(entry)
    pairs = [pair for same in by_place.values() for pair in _pairs(same)]
    if len(pairs) < FEWEST:
        return {}
    return {
        "frozen": bounded([frozen for frozen, _ in pairs]),
        "trained": bounded([trained for _, trained in pairs]),
    }


def _place(parameter: torch.nn.Parameter) -> tuple[Any, ...] | None:
    """Tell where a parameter lies; ``None`` for what has no memory of its own."""
    plain = type(parameter.data) is torch.Tensor and not parameter.is_meta
    if not plain or not parameter.numel() or not parameter.is_floating_point():
        return None
    return (
        parameter.device,
        parameter.data_ptr(),
        parameter.dtype,
        tuple(parameter.shape),
        parameter.stride(),
    )


def _pairs(same: list[NamedParameter]) -> list[tuple[str, str]]:
    trained = [entry.name for entry in same if entry.parameter.requires_grad]
    frozen = [entry.name for entry in same if not entry.parameter.requires_grad]
    return [(name, trained[0]) for name in frozen] if trained else []
