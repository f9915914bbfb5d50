"""Where a model draws random numbers itself: its dropout."""

from collections import Counter
from typing import Any

import torch
from torch.nn.modules.dropout import _DropoutNd

from ftlab.records.attributes import attribute_of


def dropouts_of(model: torch.nn.Module) -> str:
    """Say which shares are dropped, and by how many modules; ``""`` for none.

    Shares of a configuration are those that attention drops without a module.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.seeds.dropouts import dropouts_of
    >>> dropouts_of(torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Linear(1, 1)))
    '0.1 in 1 module'
    """
    shares = Counter(
        each.p for each in model.modules() if isinstance(each, _DropoutNd) and each.p
    )
    said = [f"{p:g} in {n} module{'s' * (n > 1)}" for p, n in sorted(shares.items())]
    said += [f"{name} {value:g}" for name, value in _configured(model)]
    return ", ".join(said)


def _configured(model: Any) -> list[tuple[str, float]]:
    held = getattr(attribute_of(model, "config"), "__dict__", {})
    named = [(name, value) for name, value in held.items() if "attention_drop" in name]
    return [(n, float(v)) for n, v in named if isinstance(v, float | int) and v]
