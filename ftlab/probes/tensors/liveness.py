"""Which trainable parameters an update has changed, told from their bits alone.

No hook is involved, so that it holds for a compiled model, a compiled optimizer and a
whole compiled step as well. Each parameter is reduced to one number on its device; all
numbers are read together.
"""

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.naming import named_trainables, roles_of

CHUNK = 1 << 20
"""Elements that are read at a time: they become 64-bit integers."""

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

_PARTNER = {"lora_A": "lora_B", "lora_embedding_A": "lora_embedding_B"}


@dataclass(frozen=True, slots=True)
class Standing:
    """One trainable parameter at one moment.

    Attributes
    ----------
    name
        As the model names it, without what wrappers put into it.
    identity
        ``id`` of the parameter: another one means that it was replaced.
    fingerprint
        A sum over its bits.
    lr
        Of its optimizer group; ``None`` where it is in none.
    waits
        It is a first factor of a LoRA pair whose second one is 0: its gradient is 0.
    barren
        And that second factor is frozen, so it stays 0: this one has no effect at all.
    """

    name: str
    identity: int
    fingerprint: int
    lr: float | None
    waits: bool
    barren: bool


def standings(model: torch.nn.Module, optimizers: Sequence[Any]) -> dict[str, Standing]:
    """Read all trainable parameters of a model."""
    entries = [e for e in named_trainables(model) if not e.parameter.is_meta]
    rates = _rates(optimizers)
    sums = fingerprints([entry.parameter for entry in entries])
    waiting = _waiting(model)
    found = {}
    for entry, fingerprint in zip(entries, sums, strict=True):
        own = id(entry.parameter)
        found[entry.name] = Standing(
            entry.name,
            own,
            fingerprint,
            rates.get(own),
            waits=own in waiting,
            barren=waiting.get(own, False),
        )
    return found


@torch.no_grad()
def fingerprints(tensors: Sequence[torch.Tensor]) -> list[int]:
    """Reduce each tensor to a sum over its bits, weighted by their place.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tensors.liveness import fingerprints
    >>> before, after = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])
    >>> one, other = fingerprints([before, after])
    >>> one == other, one == fingerprints([before.clone()])[0]
    (False, True)
    """
    sums = [_fingerprint(_local(tensor)) for tensor in tensors]
    by_device: dict[torch.device, list[int]] = {}
    for index, value in enumerate(sums):
        by_device.setdefault(value.device, []).append(index)
    found = [0] * len(sums)
    for indices in by_device.values():
        values = torch.stack([sums[index] for index in indices]).tolist()
        for index, value in zip(indices, values, strict=True):
            found[index] = value
    return found


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """Return what this process holds of a distributed tensor."""
    whole = tensor.detach()
    return whole.to_local() if hasattr(whole, "to_local") else whole


def _fingerprint(tensor: torch.Tensor) -> torch.Tensor:
    total = torch.zeros((), dtype=torch.int64, device=tensor.device)
    flat = tensor.contiguous().reshape(-1)
    if tensor.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    bits = flat.view(_BITS[flat.element_size()])
    for start in range(0, bits.numel(), CHUNK):
        part = bits[start : start + CHUNK].to(torch.int64)
        place = torch.arange(start, start + part.numel(), device=part.device)
        # Odd weights: a change of one element never vanishes modulo 2**64.
        total += (part * (place * 0x9E3779B1 * 2 + 1)).sum()
    return total


def _rates(optimizers: Sequence[Any]) -> dict[int, float]:
    """Give the learning rate of each parameter by ``id``."""
    rates: dict[int, float] = {}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            rate = float(group.get("lr", 1.0))
            for parameter in group["params"]:
                rates[id(parameter)] = max(rate, rates.get(id(parameter), 0.0))
    return rates


def _waiting(model: torch.nn.Module) -> dict[int, bool]:
    """Find first factors of LoRA pairs whose second is 0; tell whether it is frozen."""
    roles = roles_of(model)
    parts: dict[tuple[str, str, str], torch.Tensor] = {
        (role.module, role.adapter, role.role): parameter
        for parameter in model.parameters()
        if not parameter.is_meta and (role := roles.get(id(parameter))) is not None
    }
    found = {}
    for (module, adapter, part), parameter in parts.items():
        partner = parts.get((module, adapter, _PARTNER.get(part, "")))
        if partner is not None and not bool(partner.detach().any()):
            found[id(parameter)] = not partner.requires_grad
    return found


def optimizers_of(model: torch.nn.Module) -> list[torch.optim.Optimizer]:
    """Find the optimizers in this process that hold a parameter of the model."""
    own = {id(parameter) for parameter in model.parameters()}
    return [
        each
        for each in gc.get_objects()
        if issubclass(type(each), torch.optim.Optimizer)  # a dead proxy answers nothing
        and any(id(p) in own for group in each.param_groups for p in group["params"])
    ]
