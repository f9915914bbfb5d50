"""What in a model depends on the mode, and which parts of the model are in which mode.

Dropout does nothing in evaluation mode, batch norm uses what it has gathered, and the
blocks of transformers are not checkpointed. Everything else computes the same in both.
"""

import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch

from ftlab.probes.naming import clean_name

Kind = Literal["dropout", "statistics", "checkpointing"]

DROPOUTS = (
    torch.nn.Dropout,
    torch.nn.Dropout1d,
    torch.nn.Dropout2d,
    torch.nn.Dropout3d,
    torch.nn.AlphaDropout,
    torch.nn.FeatureAlphaDropout,
)
"""Modules that drop something with the chance ``p``."""

BATCH_NORMS = (
    torch.nn.BatchNorm1d,
    torch.nn.BatchNorm2d,
    torch.nn.BatchNorm3d,
    torch.nn.SyncBatchNorm,
)
"""Modules that gather statistics of what they see in training mode."""


class Part(NamedTuple):
    """A module that computes something else in evaluation mode.

    Attributes
    ----------
    path
        Clean path in the model.
    reference
        The module, held weakly.
    p
        The chance that something is dropped, 0 for other kinds.
    layer
        The layer of PEFT's whose adapter it is a dropout of, held weakly.
    """

    path: str
    reference: "weakref.ref[torch.nn.Module]"
    kind: Kind
    p: float
    layer: "weakref.ref[torch.nn.Module] | None" = None

    @property
    def on(self) -> bool:
        """Whether it is in training mode; also where it is gone."""
        module = self.reference()
        return module is None or module.training

    @property
    def learns(self) -> bool:
        """Whether the adapter that it is a dropout of has gradients."""
        layer = None if self.layer is None else self.layer()
        if layer is None:
            return False
        adapter = self.path.rpartition(".")[2]
        return any(
            weight.grad is not None and adapter in name.split(".")
            for name, weight in layer.named_parameters()
        )


class Region(NamedTuple):
    """A module in evaluation mode whose parent is not.

    Attributes
    ----------
    path
        Clean path, ``""`` for the model itself.
    off
        What in it depends on the mode and is in evaluation mode.
    block
        The numbered module that it stands in, or else itself.
    """

    path: str
    module: torch.nn.Module
    off: tuple[Part, ...]
    block: torch.nn.Module

    @property
    def single(self) -> bool:
        """Whether it is one module without parts, such as a dropout."""
        return next(self.module.children(), None) is None


def parts_of(model: torch.nn.Module) -> list[Part]:
    """List what depends on the mode."""
    found, layers = [], _layers_by_path(model)
    for path, module in model.named_modules():
        name, held = clean_name(path), weakref.ref(module)
        if (p := _chance(module)) > 0:
            found.append(Part(name, held, "dropout", p, _layer_of(path, layers)))
        if _keeps_statistics(module):
            found.append(Part(name, held, "statistics", 0.0))
        if vars(module).get("gradient_checkpointing") is True and path:
            found.append(Part(name, held, "checkpointing", 0.0))
    return found


def regions_of(model: torch.nn.Module, parts: Sequence[Part]) -> Iterator[Region]:
    """Yield the highest modules in evaluation mode that hold one of ``parts``."""
    kept: dict[int, list[Part]] = {}
    for part in parts:
        kept.setdefault(id(part.reference()), []).append(part)
    waiting: list[tuple[str, torch.nn.Module, torch.nn.Module | None]]
    waiting = [("", model, None)]
    while waiting:
        path, module, block = waiting.pop()
        if path.rpartition(".")[2].isdigit() and next(module.children(), None):
            block = module
        if not module.training:
            inside = (m for m in module.modules() if not m.training)
            off = tuple(part for m in inside for part in kept.get(id(m), ()))
            if off:
                yield Region(clean_name(path), module, off, block or module)
            continue
        children = reversed(list(module.named_children()))
        waiting += [(f"{path}.{n}" if path else n, m, block) for n, m in children]


def _layers_by_path(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    if "peft" not in sys.modules:
        return {}
    from peft.tuners.tuners_utils import BaseTunerLayer

    modules = model.named_modules()
    return {
        path: module for path, module in modules if isinstance(module, BaseTunerLayer)
    }


def _layer_of(
    path: str, layers: Mapping[str, torch.nn.Module]
) -> "weakref.ref[torch.nn.Module] | None":
    """Find the layer that has ``path`` in a dictionary of parts by adapter."""
    owner, _, parts = path.rpartition(".")[0].rpartition(".")
    layer = layers.get(owner)
    if layer is None or parts == "base_layer":
        return None
    return weakref.ref(layer)


def _chance(module: Any) -> float:
    """Return the chance that a module drops something in training mode."""
    if isinstance(module, DROPOUTS):
        return float(module.p)
    if isinstance(module, torch.nn.RNNBase) and module.num_layers < 2:
        return 0.0  # torch drops between layers only
    chances = (
        value
        for name, value in vars(module).items()
        if "drop" in name and isinstance(value, float) and 0 < value <= 1
    )
    return max(chances, default=0.0)


def _keeps_statistics(module: torch.nn.Module) -> bool:
    return isinstance(module, BATCH_NORMS) and module.track_running_stats
