"""Which numbered module ``layers_to_transform`` was compared with.

PEFT takes the first number of a path that follows two names (before 0.20 the last one).
Where the list of blocks is at the root of the model, its number follows one name only:
in ``layers.0.mlp.experts.1.up`` it is the expert's number that counts.
"""

import re
from collections.abc import Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import (
    Layer,
    bounded,
    plain_modules,
    under_adapters,
)
from ftlab.probes.adapter_config.unadapted import is_linear

_NUMBER = re.compile(r"\.(\d+)(?=\.)")


def misread_indices(
    config: Any, layers: Sequence[Layer], root: torch.nn.Module, prefix: str
) -> dict[str, Any]:
    """Find layers that carry the adapter by a number that is not their block's.

    Returns
    -------
    dict
        Empty where the number is the block's. ``blocks`` (the outermost list), ``read``
        (the list whose number was taken), ``indices`` of the blocks that hold adapters,
        and the layers ``outside`` of the blocks that were asked for.
    """
    wanted = getattr(config, "layers_to_transform", None)
    if wanted is None or wanted == [] or getattr(config, "layers_pattern", None):
        return {}
    if isinstance(getattr(config, "target_modules", None), str):
        return {}
    numbers = {wanted} if isinstance(wanted, int) else set(wanted)
    known: dict[str, torch.nn.Module] = dict(plain_modules(root))
    taken: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for layer in layers:
        key = layer.name.removeprefix(f"{prefix}.") if prefix else layer.name
        numbered = [*_NUMBER.finditer(key)]
        read = next((each for each in numbered[1:] if int(each[1]) in numbers), None)
        if read is not None and _is_piece(known, key[: read.end()]):
            block = numbered[0]
            lists = key[: block.start()], _NUMBER.sub(".#", key[: read.start()])
            taken.setdefault(lists, []).append((int(block[1]), layer.name))
    for (blocks, read_list), found in taken.items():
        outside = [name for index, name in found if index not in numbers]
        if outside:
            indices = sorted({index for index, _ in found})
            lists_read = {"blocks": blocks, "read": read_list, "indices": indices}
            return lists_read | {"outside": bounded(outside)}
    return {}


def _is_piece(known: dict[str, torch.nn.Module], path: str) -> bool:
    """Tell a piece of a block, such as an expert: it has weights of linear layers only.

    A block that stands in a list of towers or stages has norms of its own. There it
    is the inner number that is meant.
    """
    inside = [known[n] for n in known if n == path or n.startswith(f"{path}.")]
    holders = [m for m in inside if next(m.parameters(recurse=False), None) is not None]
    return bool(inside) and all(is_linear(under_adapters(m)) for m in holders)
