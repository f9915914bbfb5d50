"""Backwards of a user's own functions that return ``None`` for what needs a gradient.

Who calls whom: `ftlab.probes.graph.step_calls` tells `NoneReturned` of each module's
output, and asks it when backward is over. Hooks on the functions' nodes see what they
return; the graph before those tells which parameters it would have gone to.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from ftlab.records.handle import HandleStack

NODES = 1 << 16
"""Nodes of one graph that are looked at."""

Nodes = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Returned:
    """A function that returned ``None`` where a gradient was needed.

    Attributes
    ----------
    path
        The module in which it runs.
    function
        Its class, with the file and line of its backward.
    """

    path: str
    function: str


class NoneReturned:
    """Looks at functions of the user's in one step.

    Parameters
    ----------
    looking
        Whether to; the graph behind every output is walked through.
    """

    def __init__(self, *, looking: bool) -> None:
        self._looking = looking
        self._known: dict[int, Any] = {}
        self._ended: list[tuple[Returned, Nodes]] = []
        self._hooks = HandleStack()

    def see(self, path: str, output: Any) -> None:
        """Put hooks on the functions behind what a module has put out."""
        if not self._looking:
            return
        for node in _behind(_nodes_of(output), self._known):
            kind = getattr(type(node), "_forward_cls", None)
            if isinstance(node, BackwardCFunction) and _is_users(kind):
                before = tuple(each for each, _ in node.next_functions)
                found = Returned(path, _described(kind))
                self._hooks.add(node.register_hook(self._hook(found, before)))
        if not path:
            self._known.clear()

    def _hook(self, found: Returned, before: Nodes) -> Callable[[Any, Any], None]:
        ended = self._ended

        def see_returned(returned: Any, given: Any) -> None:
            if any(each is not None for each in given):
                pairs = zip(before, returned, strict=True)
                lost = tuple(n for n, each in pairs if n is not None and each is None)
                if lost:
                    ended.append((found, lost))

        return see_returned

    def take(self, lost: Iterable[tuple[str, torch.Tensor]]) -> dict[str, Returned]:
        """Give the function behind each parameter that such a one left without.

        Everything is let go of.
        """
        self._hooks.remove()
        self._known.clear()
        ended, self._ended = self._ended, []
        names = {id(parameter): name for name, parameter in lost}
        found: dict[str, Returned] = {}
        for returned, nodes in ended:
            for node in _behind(nodes, {}):
                name = names.get(id(getattr(node, "variable", None)))
                if name is not None:
                    found.setdefault(name, returned)
        return found


def _behind(nodes: Iterable[Any], known: dict[int, Any]) -> Iterator[Any]:
    """Yield the nodes before some that are not known yet; they are from then on."""
    waiting = deque(nodes)
    while waiting and len(known) < NODES:
        node = waiting.popleft()
        if node is None or id(node) in known:
            continue
        known[id(node)] = node  # and its id stays its own
        yield node
        waiting.extend(before for before, _ in node.next_functions)


def _nodes_of(output: Any) -> Iterator[Any]:
    if isinstance(output, torch.Tensor):
        yield output.grad_fn
    elif isinstance(output, Mapping):
        yield from _nodes_of(tuple(output.values()))
    elif isinstance(output, tuple | list):
        for each in output:
            yield from _nodes_of(each)


def _is_users(kind: Any) -> bool:
    return kind is not None and not str(kind.__module__).startswith("torch.")


def _described(kind: Any) -> str:
    code = getattr(kind.backward, "__code__", None)
    name = f"{kind.__qualname__.rpartition('<locals>.')[2]}.backward"
    if code is None:
        return name
    return f"{name} ({PurePath(code.co_filename).name}:{code.co_firstlineno})"
