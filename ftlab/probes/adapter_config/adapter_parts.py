"""The parameters that PEFT added, by adapter and part: how many learn, and as what."""

from collections import Counter, defaultdict
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import NAMES, Holder, bounded
from ftlab.probes.naming import (
    NamedParameter,
    Role,
    clean_name,
    named_parameters,
    roles_of,
)
from ftlab.probes.plain import dtype_name

SOME = 8
"""Names that are kept of every part."""

FEW = 64
"""At most so many names are kept of a part that is frozen as a whole."""

Parts = dict[str, dict[str, list[NamedParameter]]]


def adapter_parts(model: torch.nn.Module, found: list[Holder]) -> Parts:
    """Sort the parameters of adapters: adapter -> part -> parameters.

    Parts are those of `ftlab.probes.naming.Role`, and ``"prompt"`` for the embeddings
    and the encoder of a learned prompt.
    """
    roles = roles_of(model) | _prompts(found)
    parts: Parts = defaultdict(lambda: defaultdict(list))
    for entry in named_parameters(model):
        role = roles.get(id(entry.parameter))
        if role is not None and role.adapter:
            parts[role.adapter][role.role].append(entry)
    return parts


def part_facts(entries: list[NamedParameter]) -> dict[str, Any]:
    """Count what is trainable, in which dtype; name the first and what is frozen.

    ``frozen_zero`` are those of the frozen that are exactly 0.
    """
    frozen = [entry for entry in entries if not entry.parameter.requires_grad]
    facts: dict[str, Any] = {
        "tensors": len(entries),
        "elements": sum(entry.parameter.numel() for entry in entries),
        "trainable": len(entries) - len(frozen),
        "dtypes": _dtypes(entries),
        "first": bounded([entry.name for entry in entries], SOME),
    }
    if frozen:
        # A whole adapter that is frozen is often meant to be: some names will do.
        most = NAMES if len(frozen) < len(entries) else FEW
        facts["frozen"] = bounded([entry.name for entry in frozen], most)
        facts["frozen_zero"] = bounded(_zeros(frozen), most)
    return facts


def outside_facts(model: torch.nn.Module, parts: Parts) -> dict[str, Any]:
    """Tell what is trainable outside of adapters, apart by where it stands.

    ``under`` are weights of the very layers that adapters were put on, ``biases`` the
    model's biases, ``others`` the rest.
    """
    known = {
        id(entry.parameter)
        for by_part in parts.values()
        for entries in by_part.values()
        for entry in entries
    }
    kinds: dict[str, list[NamedParameter]] = defaultdict(list)
    for entry in named_parameters(model):
        if entry.parameter.requires_grad and id(entry.parameter) not in known:
            kinds[_kind(entry.name)].append(entry)
    return {
        kind: bounded([entry.name for entry in entries])
        | {"elements": sum(entry.parameter.numel() for entry in entries)}
        for kind, entries in kinds.items()
    }


def _kind(name: str) -> str:
    if name.endswith("bias"):
        return "biases"
    return "under" if ".base_layer." in name else "others"


def _dtypes(entries: list[NamedParameter]) -> dict[str, int]:
    counts = Counter(dtype_name(entry.parameter.dtype) for entry in entries)
    return dict(counts.most_common())


def _prompts(found: list[Holder]) -> dict[int, Role]:
    roles: dict[int, Role] = {}
    for holder in found:
        prompts = getattr(holder.module, "prompt_encoder", None)
        if not isinstance(prompts, torch.nn.ModuleDict):
            continue
        for adapter, encoder in prompts.items():
            for parameter in encoder.parameters():
                roles[id(parameter)] = Role("prompt", clean_name(adapter), "")
    return roles


def _zeros(entries: list[NamedParameter]) -> list[str]:
    """Name those that are exactly 0; waits for the device once."""
    plain = [
        entry
        for entry in entries
        if not entry.parameter.is_meta
        and type(entry.parameter.data) is torch.Tensor
        and entry.parameter.numel()
    ]
    by_device: dict[torch.device, list[NamedParameter]] = defaultdict(list)
    for entry in plain:
        by_device[entry.parameter.device].append(entry)
    names = []
    for members in by_device.values():
        largest = torch.stack(
            [entry.parameter.detach().abs().amax().double() for entry in members]
        )
        rows = zip(members, largest.tolist(), strict=True)
        names += [entry.name for entry, value in rows if value == 0]
    return names
