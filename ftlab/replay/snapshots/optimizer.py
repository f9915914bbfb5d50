"""Optimizers and scalers in a snapshot, by the names of their parameters."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from ftlab.records.errors import AttachError, BadValueError
from ftlab.replay.capsules.outside import from_outside
from ftlab.replay.snapshots.codec import Packer, Unpacker

Names = Mapping[int, str]
"""Names of parameters by ``id``."""


def pack_optimizer(
    optimizer: torch.optim.Optimizer,
    groups: Sequence[Mapping[str, Any]],
    state: Mapping[Any, Mapping[str, Any]],
    names: Names,
    packer: Packer,
) -> dict[str, Any]:
    """Return an optimizer's entry in the manifest.

    Parameters
    ----------
    groups, state
        The options of each group, and the state by parameter, as they were.
    """
    kind = type(optimizer).__name__
    live = zip(optimizer.param_groups, groups, strict=True)
    packed = [
        {
            "parameters": [names.get(id(p)) for p in group["params"]],
            "options": _options(options, packer, f"{kind}.group"),
        }
        for group, options in live
    ]
    kept = {
        names[id(p)]: packer.pack(dict(entry), f"{kind}.{names[id(p)]}")
        for p, entry in state.items()
        if isinstance(p, torch.Tensor) and id(p) in names
    }
    return {"class": kind, "groups": packed, "state": kept}


def _options(options: Mapping[str, Any], packer: Packer, place: str) -> dict[str, Any]:
    """Leave out what no file can hold, a function for example."""
    found = {}
    for name, value in options.items():
        try:
            found[name] = packer.pack(value, f"{place}.{name}")
        except BadValueError:
            continue
    return found


def match_optimizer(
    packed: Sequence[Mapping[str, Any]], optimizer: torch.optim.Optimizer, names: Names
) -> Mapping[str, Any]:
    """Return the entry that belongs to ``optimizer``.

    Raises
    ------
    AttachError
        When there is none; it says which there are.
    """
    mine = _shape_of(type(optimizer).__name__, _parameters(optimizer, names))
    for entry in packed:
        groups = [group["parameters"] for group in entry["groups"]]
        if _shape_of(entry["class"], groups) == mine:
            return entry
    known = "; ".join(
        f"{e['class']} with {[len(g['parameters']) for g in e['groups']]} parameters "
        "in its groups"
        for e in packed
    )
    msg = (
        f"This {type(optimizer).__name__} with "
        f"{[len(g['params']) for g in optimizer.param_groups]} parameters in its "
        f"groups is not in the run, which has {known or 'no optimizer'}. Build it "
        "as in the run, over the parameters of the model that you pass."
    )
    raise AttachError(msg)


def _parameters(
    optimizer: torch.optim.Optimizer, names: Names
) -> list[list[str | None]]:
    groups = optimizer.param_groups
    return [[names.get(id(p)) for p in group["params"]] for group in groups]


def _shape_of(kind: str, groups: Sequence[Sequence[str | None]]) -> tuple[Any, ...]:
    return kind, tuple(tuple(group) for group in groups)


def load_optimizer(
    entry: Mapping[str, Any],
    unpacker: Unpacker,
    optimizer: torch.optim.Optimizer,
    names: Names,
) -> None:
    """Give ``optimizer`` the options and the state of its entry."""
    for group, packed in zip(optimizer.param_groups, entry["groups"], strict=True):
        group.update({k: unpacker.unpack(v) for k, v in packed["options"].items()})
    optimizer.state.clear()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            kept = entry["state"].get(names.get(id(parameter)))
            if kept is not None:
                optimizer.state[parameter] = dict(unpacker.unpack(kept))


def pack_scaler(scaler: Any, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scaler's entry in the manifest, in the words of its ``state_dict``."""
    scale, tracker = before.get("_scale"), before.get("_growth_tracker")
    state = scaler.state_dict()
    # A scaler that has scaled nothing yet keeps both as plain numbers.
    return {
        "scale": state["scale"] if scale is None else float(scale),
        "growth_factor": float(state["growth_factor"]),
        "backoff_factor": float(state["backoff_factor"]),
        "growth_interval": int(state["growth_interval"]),
        "_growth_tracker": (
            state["_growth_tracker"] if tracker is None else int(tracker)
        ),
    }


def load_scalers(packed: Sequence[Mapping[str, Any]], scalers: Iterable[Any]) -> None:
    """Give scalers, in the order in which they were met, their state."""
    for entry, scaler in zip(packed, scalers, strict=False):
        scaler.load_state_dict(dict(entry))


def scalers_of(function: Any) -> list[Any]:
    """List the enabled scalers that ``function`` finds by name, each once."""
    found = {
        id(value): value
        for _, value in from_outside(function)
        if isinstance(value, torch.amp.GradScaler) and value.is_enabled()
    }
    return list(found.values())
