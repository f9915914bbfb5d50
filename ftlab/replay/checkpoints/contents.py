"""What a checkpoint holds of live objects, read and put back by name.

`gather` reads, `restore` puts back, `differences` compares. All three speak of tensors
and plain values by name, so that nothing in a file can be executed.
"""

import copy
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
from ftlab.replay.snapshots.rng import load_rng, pack_rng
from ftlab.replay.snapshots.weights import (
    check_weights,
    load_weights,
    named,
    pack_weights,
)


@dataclass(frozen=True, slots=True)
class Live:
    """The live objects of a training, between two steps.

    Attributes
    ----------
    loader
        What feeds it, where that can tell its position: ``state_dict``.
    extra
        What the user's own loop counts.
    """

    model: torch.nn.Module
    optimizers: tuple[Any, ...] = ()
    schedulers: tuple[Any, ...] = ()
    scaler: Any = None
    loader: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Entries of a manifest, and the tensors that they name."""

    entries: dict[str, Any]
    tensors: dict[str, torch.Tensor]


def gather(live: Live) -> Gathered:
    """Read everything; nothing is changed, and no random number drawn.

    Weights are those that train, and the buffers; with no adapters in the model all of
    them.
    """
    rng, packer = RngState.take(), Packer(live.model)
    names = {id(p): every[0] for every, p in named(live.model)}
    adapted = bool(getattr(live.model, "peft_config", None))
    entries = {
        "weights": pack_weights(
            live.model, packer, {}, everything=not adapted, checksums=False
        ),
        "optimizers": [
            pack_optimizer(
                each,
                [settings_of(group) for group in each.param_groups],
                dict(each.state),
                names,
                packer,
            )
            for each in live.optimizers
        ],
        "schedulers": _states("scheduler", live.schedulers, packer),
        "scaler": _states("scaler", _scalers(live), packer),
        "loader": _states("loader", _loaders(live), packer),
        "rng": pack_rng(rng, packer, "rng"),
        "extra": packer.pack(dict(live.extra), "extra"),
    }
    return Gathered(entries, packer.tensors)


def settings_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter group without its parameters."""
    return {name: value for name, value in group.items() if name != "params"}


def _states(what: str, owners: tuple[Any, ...], packer: Packer) -> list[Json]:
    """Pack state dicts, without what no file can hold: a function for example."""
    return [
        {"class": type(each).__name__, "state": _plain(each.state_dict(), packer, what)}
        for each in owners
    ]


def _plain(state: Mapping[str, Any], packer: Packer, what: str) -> Json:
    kept = {k: v for k, v in state.items() if not callable(v)}
    return packer.pack(kept, what)


def _scalers(live: Live) -> tuple[Any, ...]:
    enabled = live.scaler is not None and live.scaler.is_enabled()
    return (live.scaler,) if enabled else ()


def _loaders(live: Live) -> tuple[Any, ...]:
    tells = callable(getattr(live.loader, "state_dict", None))
    return (live.loader,) if tells else ()


def unhealthy(gathered: Gathered, model: torch.nn.Module) -> str:
    """Name what is not finite among trained weights and optimizer states.

    One read-back from the device; empty where all is well.
    """
    trained = {n for every, p in named(model) if p.requires_grad for n in every}
    kinds = tuple(f"{each['class']}." for each in gathered.entries["optimizers"])
    by_device: dict[Any, list[tuple[str, torch.Tensor]]] = {}
    for name, tensor in gathered.tensors.items():
        counts = name in trained or (kinds and name.startswith(kinds))
        if counts and _has_range(tensor):
            by_device.setdefault(tensor.device, []).append((name, tensor))
    for found in by_device.values():
        norm = torch.linalg.vector_norm
        finite = torch.stack([norm(each, math.inf).isfinite() for _, each in found])
        for (name, _), is_finite in zip(found, finite.tolist(), strict=True):
            if not is_finite:
                return f"{name} is not finite"
    return ""


def _has_range(tensor: torch.Tensor) -> bool:
    wide = tensor.is_floating_point() and tensor.element_size() > 1
    return wide and tensor.numel() > 0


ALL = frozenset({"weights", "optimizer", "schedule", "rng"})
"""The optimizer's part has moments and the scaler; the rates belong to the schedule."""


def restore(stored: Stored, live: Live, parts: Collection[str] = ALL) -> None:
    """Put ``parts`` of it back; first see that they fit.

    Raises
    ------
    AttachError
        The model or an optimizer is another one.
    CheckpointError
        A tensor on disk is damaged.
    """
    entries, model = stored.manifest, live.model
    unpacker = Unpacker(stored, model)
    names = {id(p): every[0] for every, p in named(model)}
    check_weights(entries["weights"], model, "checkpoint")
    matched = [
        (match_optimizer(entries["optimizers"], each, names, "checkpoint"), each)
        for each in live.optimizers
        if "optimizer" in parts
    ]
    if "weights" in parts:
        load_weights(entries["weights"], unpacker, model)
    for entry, optimizer in matched:
        kept = [settings_of(group) for group in optimizer.param_groups]
        load_optimizer(entry, unpacker, optimizer, names)
        for group, own in zip(optimizer.param_groups, kept, strict=True):
            group.update({} if "schedule" in parts else own)
    for part, section, owners in (
        ("optimizer", "scaler", _scalers(live)),
        ("schedule", "schedulers", live.schedulers),
        ("schedule", "loader", _loaders(live)),
    ):
        held = zip(entries[section], owners, strict=False)
        for entry, owner in held if part in parts else ():
            owner.load_state_dict(unpacker.unpack(entry["state"]))
    if "rng" in parts:
        load_rng(entries["rng"], unpacker)


def differences(stored: Stored, live: Live) -> tuple[str, ...]:
    """Name what is not as it is in the checkpoint, bit for bit.

    What is not handed over is not compared.
    """
    mine = gather(live)
    digests = {name: tensor_digest(each) for name, each in mine.tensors.items()}
    here, there = (
        _values(mine.entries, digests),
        _values(stored.manifest, stored.digests),
    )
    told = {"weights", "rng"}
    for section, given in (
        ("optimizers", live.optimizers),
        ("schedulers", live.schedulers),
        ("scaler", _scalers(live)),
        ("loader", _loaders(live)),
        ("extra", live.extra),
    ):
        told |= {section} if given else set()
    return tuple(
        place
        for place in dict.fromkeys([*there, *here])
        if place.partition(":")[0] in told and here.get(place) != there.get(place)
    )


def _values(entries: Mapping[str, Any], digests: Mapping[str, str]) -> dict[str, Any]:
    """Return what entries hold by its place: values, and digests of tensors."""
    sections = ("weights", "optimizers", "schedulers", "scaler", "loader", "rng")
    return {
        f"{section}:{place}": value
        for section in (*sections, "extra")
        for place, value in _leaves(entries[section], "", digests)
    }


def _leaves(
    packed: Json, path: str, digests: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    if isinstance(packed, dict) and packed.get("is") == "tensor":
        yield packed["name"], digests[packed["name"]]
    elif isinstance(packed, dict):
        for key, value in packed.items():
            silent = key in ("of", "options", "is")
            yield from _leaves(value, path if silent else f"{path}.{key}", digests)
    elif isinstance(packed, list) and any(isinstance(v, dict | list) for v in packed):
        for index, value in enumerate(packed):
            names = value.get("names") if isinstance(value, dict) else None
            here = f"{path}.{index}" if names is None else names[0]
            yield from _leaves(value, here, digests)
    else:
        yield path.removeprefix("."), copy.copy(packed)
