"""Which modules were called in a step, and why a parameter could get no gradient.

Who calls whom: `ftlab.probes.graph.graph_flow` tells `ModuleCalls` of each call, and
asks it about parameters that have no gradient when backward is over.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from ftlab.probes.graph.flow_calls import Tensors


@dataclass(frozen=True, slots=True)
class Unreached:
    """Why parameters have no gradient, as the calls of modules show it.

    Attributes
    ----------
    path
        The module that it is about, the outermost one that it is true of.
    kind
        ``"bypassed"``: it was not called and a module within it was, ``to``.
        ``"not-called"``: neither it nor anything in it was, although ``to`` ran, the
        nearest module around it that did.
        ``"unused"``: it ran, what it put out is in the graph, and no gradient came
        back to anything in it.
    """

    path: str
    kind: str
    to: str = ""


class ModuleCalls:
    """Keeps, for one step, which modules ran and whether their outputs had a graph.

    Parameters
    ----------
    modules
        All modules that have hooks, by path; the model is ``""``.
    """

    def __init__(self, modules: Mapping[str, torch.nn.Module]) -> None:
        self._modules = modules
        self._called: dict[str, None] = {}
        self._in_graph: set[str] = set()

    def began(self, path: str) -> None:
        """Hear that a module is called."""
        self._called.setdefault(path)

    def ended(self, path: str, made: Tensors) -> None:
        """Hear what a module has put out."""
        self._called.setdefault(path)
        if made.graph:
            self._in_graph.add(path)

    def explain(
        self, lost: Sequence[str], reached: Sequence[str]
    ) -> Iterator[tuple[str, Unreached]]:
        """Give the reason for each parameter whose module's calls tell one.

        Parameters
        ----------
        lost, reached
            Names of the trainable parameters without and with a gradient.
        """
        alive = {path for name in reached for path in _above(name)}
        for name in lost:
            owner = self._owner(name)
            if owner is None:
                continue
            reason = (
                self._unused(owner, alive)
                if owner in self._called
                else self._not_called(owner)
            )
            if reason is not None:
                yield name, reason

    def _owner(self, name: str) -> str | None:
        """Return the module that would use a parameter: no mere container."""
        return next((path for path in _above(name) if self._runs(path)), None)

    def _runs(self, path: str) -> bool:
        """Tell whether a module has a forward: a ModuleList or ModuleDict has none."""
        module = self._modules.get(path)
        return (
            module is not None and type(module).forward is not torch.nn.Module.forward
        )

    def _not_called(self, owner: str) -> Unreached:
        outermost, around = owner, ""
        for path in _above(owner + "."):
            if path in self._called:
                around = path or "model"
                break
            if self._runs(path):
                outermost = path
        inside = f"{outermost}." if outermost else ""
        first = next((p for p in self._called if p.startswith(inside)), "")
        if first:
            return Unreached(outermost, "bypassed", first)
        return Unreached(outermost, "not-called", around)

    def _unused(self, owner: str, alive: set[str]) -> Unreached | None:
        # Where the graph was cut tells more; and a module of which another parameter
        # has a gradient was used.
        if owner not in self._in_graph or owner in alive:
            return None
        outermost = owner
        for path in _above(owner + "."):
            if path in alive:
                break
            if path in self._in_graph:
                outermost = path
        return Unreached(outermost, "unused")


class Swapped:
    """Tells which parameters are not in the model while it runs: others stand in.

    That is how `torch.func.functional_call` runs a model. Only what an optimizer holds,
    or what was computed from something, counts as standing in: what shards parameters
    puts in plain copies.

    Parameters
    ----------
    modules
        All modules that have hooks, by path.
    parameters
        The trainable parameters by name, as they are outside of the forward.
    held
        ``id`` of each tensor that an optimizer holds.
    """

    def __init__(
        self,
        modules: Mapping[str, torch.nn.Module],
        parameters: Iterable[tuple[str, torch.nn.Parameter]],
        held: frozenset[int],
    ) -> None:
        self._modules = modules
        self._own = {name: id(each) for name, each in parameters}
        self._held = held
        self._seen: set[str] = set()
        self.names: set[str] = set()

    def see(self, path: str) -> None:
        """Look at the parameters of a module that is called."""
        if path in self._seen:
            return
        self._seen.add(path)
        module = self._modules.get(path)
        if module is None:
            return
        for last, now in vars(module)["_parameters"].items():
            name = f"{path}.{last}" if path else last
            own = self._own.get(name)
            if own is None or now is None or own == id(now):
                continue
            if self._stands_in(now):
                self.names.add(name)

    def _stands_in(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self._held or tensor.grad_fn is not None


def _above(name: str) -> Iterator[str]:
    """Yield the paths of the modules that a parameter is in, the innermost first."""
    while name:
        name = name.rpartition(".")[0]
        yield name
