"""What a checkpoint holds of live objects, read and put back by name."""

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.replay.capsules.rng import RngState
from ftlab.replay.checkpoints.manifest import Stored, tensor_digest
from ftlab.replay.snapshots.codec import Json, Packer, Unpacker
from ftlab.replay.snapshots.optimizer import (
    load_optimizer,
    match_optimizer,
    pack_optimizer,
)
from ftlab.replay.snapshots.weights import (
    check_weights,
    load_weights,
    named,
    pack_weights,
)

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


@dataclass(frozen=True, slots=True)
class Gathered:
    """Entries of a manifest, and the tensors that they name."""

    entries: dict[str, Any]
    tensors: dict[str, torch.Tensor]

    @property
    def trouble(self) -> str:
        """The first trained weight or moment that is not finite, in words."""
        told = self.entries["weights"]["parameters"]
        trained = {name for each in told if each["trainable"] for name in each["names"]}
        kinds = tuple(f"{each['class']}." for each in self.entries["optimizers"])
        for name, tensor in self.tensors.items():
            wide = tensor.is_floating_point() and tensor.element_size() > 1
            looked = (
                wide and tensor.numel() and (name in trained or name.startswith(kinds))
            )
            if looked and not torch.linalg.vector_norm(tensor, math.inf).isfinite():
                return f"{name} is not finite"
        return ""


def gather(live: Live) -> Gathered:
    """Read everything; nothing is changed, and no random number drawn.

    Weights are those that train, and the buffers; with no adapters in the model all.
    """
    packer, rng = Packer(live.model), RngState.take()
    names = {id(p): every[0] for every, p in named(live.model)}
    whole = not getattr(live.model, "peft_config", None)
    weights = pack_weights(live.model, packer, {}, everything=whole, checksums=False)
    optimizers = [
        pack_optimizer(
            o, list(map(settings_of, o.param_groups)), o.state, names, packer
        )
        for o in live.optimizers
    ]
    states = {
        section: [
            {
                k: packer.pack(v, section)
                for k, v in each.state_dict().items()
                if not callable(v)
            }
            for each in getattr(live, section)
        ]
        for section in ("schedulers", "scaler")
    }
    drawn = {
        each.name: packer.pack(getattr(rng, each.name), f"rng.{each.name}")
        for each in dataclasses.fields(rng)
    }
    extra = packer.pack(dict(live.extra), "extra")
    entries = {"weights": weights, "optimizers": optimizers, **states, "rng": drawn}
    return Gathered(entries | {"extra": extra}, packer.tensors)


def settings_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter group without its parameters."""
    return {name: value for name, value in group.items() if name != "params"}


def restore(stored: Stored, live: Live, parts: Collection[str] = ALL) -> None:
    """Put ``parts`` of it back; an AttachError tells before that they do not fit."""
    entries, unpacker = stored.manifest, Unpacker(stored, live.model)
    names = {id(p): every[0] for every, p in named(live.model)}
    check_weights(entries["weights"], live.model, "checkpoint")
    matched = [
        (match_optimizer(entries["optimizers"], each, names, "checkpoint"), each)
        for each in live.optimizers
        if "optimizer" in parts
    ]
    if "weights" in parts:
        load_weights(entries["weights"], unpacker, live.model)
    for entry, optimizer in matched:
        kept = list(map(settings_of, optimizer.param_groups))
        load_optimizer(entry, unpacker, optimizer, names)
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
    mine, found = gather(live), list[str]()
    digests = {name: tensor_digest(each) for name, each in mine.tensors.items()}
    for section, entry in mine.entries.items():
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
