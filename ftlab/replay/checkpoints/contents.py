"""What a checkpoint holds of live objects, read and put back by name."""

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from ftlab.replay.capsules.rng import RngState
from ftlab.replay.checkpoints.folder import Stored, tensor_digest
from ftlab.replay.snapshots import optimizer as moments, weights as values
from ftlab.replay.snapshots.codec import Json, Packer, Unpacker

ALL = frozenset({"weights", "optimizer", "schedule", "rng"})
"""Parts to put back. Moments and scaler are the optimizer's, rates the schedule's."""


@dataclass(frozen=True, slots=True)
class Live:
    """The live objects of a training, between two steps; of scalers one or none."""

    model: torch.nn.Module
    optimizers: tuple[Any, ...] = ()
    schedulers: tuple[Any, ...] = ()
    scaler: tuple[Any, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def gather(live: Live) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Read entries of a manifest and their tensors; nothing is changed or drawn.

    Weights are those that train, and the buffers; with no adapters in the model all.
    """
    packer, rng = Packer(live.model), RngState.take()
    names = {id(p): every[0] for every, p in values.named(live.model)}
    whole = not getattr(live.model, "peft_config", None)
    entries: dict[str, Any] = {
        "weights": values.pack_weights(
            live.model, packer, {}, everything=whole, checksums=False
        )
    }
    entries["optimizers"] = [
        moments.pack_optimizer(
            each, list(map(settings_of, each.param_groups)), each.state, names, packer
        )
        for each in live.optimizers
    ]
    for section in ("schedulers", "scaler"):
        states = (each.state_dict().items() for each in getattr(live, section))
        entries[section] = [
            {key: packer.pack(v, section) for key, v in state if not callable(v)}
            for state in states
        ]
    entries["rng"] = {
        each.name: packer.pack(getattr(rng, each.name), f"rng.{each.name}")
        for each in dataclasses.fields(rng)
    }
    entries["extra"] = packer.pack(dict(live.extra), "extra")
    return entries, packer.tensors


def unhealthy(entries: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> str:
    """Name the first trained weight or moment that is not finite."""
    told = entries["weights"]["parameters"]
    trained = {name for each in told if each["trainable"] for name in each["names"]}
    kinds = tuple(f"{each['class']}." for each in entries["optimizers"])
    for name, tensor in tensors.items():
        wide = tensor.is_floating_point() and tensor.element_size() > 1
        looked = wide and tensor.numel() and (name in trained or name.startswith(kinds))
        if looked and not torch.linalg.vector_norm(tensor, math.inf).isfinite():
            return f"{name} is not finite"
    return ""


def settings_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter group without its parameters."""
    return {name: value for name, value in group.items() if name != "params"}


def restore(stored: Stored, live: Live, parts: Collection[str] = ALL) -> None:
    """Put ``parts`` of it back; an AttachError tells before that they do not fit."""
    entries, held = stored.manifest, cast("Mapping[str, torch.Tensor]", stored)
    unpacker = Unpacker(held, live.model)
    names = {id(p): every[0] for every, p in values.named(live.model)}
    values.check_weights(entries["weights"], live.model)
    matched = [
        (moments.match_optimizer(entries["optimizers"], each, names), each)
        for each in live.optimizers
        if "optimizer" in parts
    ]
    if "weights" in parts:
        values.load_weights(entries["weights"], unpacker, live.model)
    for entry, optimizer in matched:
        kept = list(map(settings_of, optimizer.param_groups))
        moments.load_optimizer(entry, unpacker, optimizer, names)
        for group, own in zip(optimizer.param_groups, kept, strict=True):
            group.update({} if "schedule" in parts else own)
    for section, part in (("scaler", "optimizer"), ("schedulers", "schedule")):
        owners = getattr(live, section) if part in parts else ()
        for state, owner in zip(entries[section], owners, strict=False):
            owner.load_state_dict({k: unpacker.unpack(v) for k, v in state.items()})
    if "rng" in parts:
        states = {name: unpacker.unpack(each) for name, each in entries["rng"].items()}
        states["devices"] = states["devices"][: len(RngState.take().devices)]
        RngState(**states).restore()


def differences(stored: Stored, live: Live) -> tuple[str, ...]:
    """Name what is not as in the checkpoint, bit for bit, of what is handed over."""
    (entries, tensors), found = gather(live), list[str]()
    digests = {name: tensor_digest(each) for name, each in tensors.items()}
    for section, entry in entries.items():
        if entry not in ([], {"is": "dict", "of": {}}):
            one = dict(_leaves(stored.manifest[section], "", stored.digests))
            other = dict(_leaves(entry, "", digests))
            places = [p for p in {**one, **other} if one.get(p) != other.get(p)]
            found += [f"{section}:{place}" for place in places]
    return tuple(found)


def _leaves(
    packed: Json, path: str, digests: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """Yield plain values by their path, and of tensors the digests by their names."""
    if isinstance(packed, dict) and packed.get("is") == "tensor":
        yield packed["name"], digests[packed["name"]]
    elif isinstance(packed, dict):
        for key, value in packed.items():
            here = path if key in ("of", "options", "is") else f"{path}.{key}"
            yield from _leaves(value, here, digests)
    elif isinstance(packed, list) and any(isinstance(v, dict | list) for v in packed):
        for index, value in enumerate(packed):
            names = value.get("names") if isinstance(value, dict) else None
            here = f"{path}.{index}" if names is None else names[0]
            yield from _leaves(value, here, digests)
    else:
        yield path.removeprefix("."), packed
