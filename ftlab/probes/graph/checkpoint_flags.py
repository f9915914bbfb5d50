"""Whether what is to be computed again in backward is, by the calls of one step.

Who calls whom: `ftlab.probes.graph.step_calls` tells `CheckpointFlags` of each call of
a module, and takes its answer when backward is over. transformers marks a block by an
attribute, and the block's class looks at that mark in ``forward``: where the forward is
another one, or the mark is on something that never looks, all activations are kept.
"""

from collections.abc import Mapping

import torch

from ftlab.probes.graph.flow_calls import Tensors
from ftlab.probes.probe import Moment
from ftlab.probes.torch_private import is_within_backward

FLAG = "gradient_checkpointing"

LAYER = "GradientCheckpointingLayer"
"""The class of transformers whose forward looks at the flag."""

KNOWN = ("torch", "transformers")
"""Packages whose checkpoints compute again; those of others may store instead."""


class CheckpointFlags:
    """Keeps, for one step, what ran in forward with a graph, and what in backward.

    Parameters
    ----------
    modules
        All modules that have hooks, by path; the model is ``""``.
    asked
        Whether a trainer's arguments ask for checkpointing.
    """

    def __init__(
        self, modules: Mapping[str, torch.nn.Module], *, asked: bool = False
    ) -> None:
        self._modules = modules
        self._marked = [p for p, m in modules.items() if vars(m).get(FLAG) is True]
        self._sources = ["arguments"] * asked
        if any(_is_written(module) for module in modules.values()):
            self._sources.append("config")
        self._on = bool(self._marked or self._sources)
        self._alive: set[str] = set()
        self._again: set[str] = set()

    def began(self, path: str) -> None:
        """Hear that a module is called."""
        if self._on and is_within_backward():
            self._again.add(path)

    def ended(self, path: str, made: Tensors) -> None:
        """Hear what a module has put out in forward."""
        if self._on and made.graph:
            self._alive.add(path)

    def without_effect(self, moment: Moment) -> dict[str, dict[str, str]]:
        """Describe what was to be computed again and was not, by path.

        Only blocks count that ran with a graph, in training mode, and some parameter of
        which has a gradient: of others nothing was kept that could be dropped.
        """
        if not self._on:
            return {}
        learning = _with_gradient(moment)
        kept = [path for path in self._modules if self._is_kept(path, learning)]
        looking = [path for path in self._marked if _looks(self._modules[path])]
        found = [path for path in looking if path in kept]
        if found:
            return {path: self._described(path, "block") for path in found}
        if self._again or looking or not kept:
            return {}
        if self._marked:
            inner = max(self._marked, key=len)
            return {inner: self._described(inner, "mark")}
        return {"": self._described("", self._sources[0])}

    def _is_kept(self, path: str, learning: set[str]) -> bool:
        """Tell whether a block kept its activations, and something in it learned."""
        module = self._modules[path]
        if not path.rpartition(".")[2].isdigit() or not module.training:
            return False
        inside = [p for p in self._modules if p.startswith(f"{path}.")]
        called = [p for p in inside if p in self._alive]
        return (
            path in self._alive
            and bool(called)
            and path in learning
            and self._again.isdisjoint((path, *inside))
            and len(inside) + 1 == sum(1 for _ in module.modules())
            and _computes_again(module)
        )

    def _described(self, path: str, kind: str) -> dict[str, str]:
        return {"kind": kind, "class": type(self._modules[path]).__name__}


def _is_written(module: torch.nn.Module) -> bool:
    """Tell whether the module's configuration asks for checkpointing."""
    return getattr(vars(module).get("config"), FLAG, None) is True


def _looks(module: torch.nn.Module) -> bool:
    """Tell whether the class promises to look at the flag at each call."""
    return any(kind.__name__ == LAYER for kind in type(module).__mro__)


def _computes_again(module: torch.nn.Module) -> bool:
    """Tell whether the checkpoint function that was set on a block is a known one."""
    function = vars(module).get("_gradient_checkpointing_func")
    inner = getattr(function, "func", function)
    owner = getattr(inner, "__module__", "") or ""
    return inner is None or owner.partition(".")[0] in KNOWN


def _with_gradient(moment: Moment) -> set[str]:
    """Name the modules in which a parameter has a gradient."""
    found: set[str] = set()
    pairs = zip(moment.tensors.names, moment.tensors.parameters, strict=True)
    for name, parameter in pairs:
        if parameter.grad is not None:
            parts = name.split(".")
            found.update(".".join(parts[:n]) for n in range(len(parts)))
    return found
