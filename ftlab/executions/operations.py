"""The operations behind one place of an execution, and where two sides' part."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves

from ftlab.executions.distance import EXACT, apart, size
from ftlab.executions.listening import Place
from ftlab.executions.passes import Beside
from ftlab.executions.tokens import Meeting
from ftlab.replay.torch_private import TorchDispatchMode, current_node, outside_modes
from ftlab.replay.tracing.site import source_lines
from ftlab.replay.tracing.traits import results


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a side.

    Attributes
    ----------
    name
        Of forward, the function of torch that was called; of backward, its node.
    line
        Innermost source line outside torch.
    given, made
        Its tensors; of those that it made, the values.
    """

    name: str
    line: str
    given: tuple[torch.Tensor, ...]
    made: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]


_NO_ARITHMETIC = (
    "__get__",
    "Tensor.to",
    "Tensor.contiguous",
    "Tensor.clone",
    "Tensor.float",
)
"""What hands on values as they are; in float64 the casts do. It leads on, unnamed."""


class ForwardOperations(TorchFunctionMode):
    """Notes the functions of torch that each running module calls, by module."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[list[Operation]] = [[]]

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` and note it."""
        kwargs = kwargs or {}
        outputs = func(*args, **kwargs)
        name = resolve_name(func) or getattr(func, "__name__", str(func))
        if made := _tensors(outputs):
            line, given = source_lines()[1], _tensors((args, kwargs))
            self.frames[-1].append(_noted(_short(name), line, given, made))
        return outputs


class BackwardOperations(TorchDispatchMode):
    """Notes the operations of backward since the last module's gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[list[Operation]] = [[]]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` and note it."""
        kwargs = kwargs or {}
        outputs = func(*args, **kwargs)
        node = current_node()
        if node is not None:
            made = _tensors(results(func, args, kwargs, outputs))
            given = _tensors((args, kwargs))
            self.frames[-1].append(_noted(node.name(), source_lines()[1], given, made))
        return outputs


class Stopping(Beside):
    """Goes on with a tape's values, and holds the operations that led to one place.

    Attributes
    ----------
    reached
        The operations of the module that made the tensor there, as far as it comes of
        them.
    """

    def __init__(
        self,
        operations: ForwardOperations | BackwardOperations,
        wanted: Place,
        **of: Any,
    ) -> None:
        super().__init__(of.pop("tape"), of.pop("meeting"), **of)
        self.reached: list[Operation] = []
        self._operations = operations
        self._backward = isinstance(operations, BackwardOperations)
        self._wanted = wanted

    def value(self, place: Place, tensor: torch.Tensor, *, again: bool) -> torch.Tensor:
        """Hold the running module's operations where they are wanted."""
        if place == self._wanted and not self._backward and not again:
            self.reached = leading_to(tensor, self._operations.frames[-1])
        return super().value(place, tensor, again=again)

    def gradient(self, place: Place, gradient: torch.Tensor) -> torch.Tensor | None:
        """Hold backward's operations since the last gradient."""
        if place == self._wanted and self._backward:
            self.reached = leading_to(gradient, self._operations.frames[-1])
        if self._backward:
            self._operations.frames[-1].clear()
        return super().gradient(place, gradient)

    def entered(self) -> None:
        """Begin the operations of a module."""
        if not self._backward:
            self._operations.frames.append([])

    def left(self) -> None:
        """Drop the operations of a module."""
        if len(self._operations.frames) > 1:
            self._operations.frames.pop()


def leading_to(
    tensor: torch.Tensor, operations: Sequence[Operation]
) -> list[Operation]:
    """Return those of ``operations`` that ``tensor`` comes of, in order."""
    wanted = {id(tensor)}
    found = []
    for operation in reversed(operations):
        if any(id(made) in wanted for made in operation.made):
            wanted |= {id(given) for given in operation.given}
            if not operation.name.endswith(_NO_ARITHMETIC):
                found.append(operation)
    return found[::-1]


def parting(
    a: list[Operation], b: list[Operation], meeting: Meeting
) -> tuple[Operation | None, Operation | None] | None:
    """Return the first operations of two sides that do not make the same.

    Operations are paired by name and order; one is ``None`` where a side has none in
    this place. ``None`` where all that are paired make the same.
    """
    names = [[operation.name for operation in side] for side in (a, b)]
    matcher = SequenceMatcher(None, names[0], names[1], autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind == "replace":
            return a[i], b[j]
        if kind != "equal":  # of those that one side has more, the last makes it differ
            return next(iter(a[i:i_end][-1:]), None), next(iter(b[j:j_end][-1:]), None)
        for left, right in zip(a[i:i_end], b[j:j_end], strict=True):
            if _differ(left, right, meeting):
                return left, right
    return None


def _noted(name: str, line: str, given: Any, made: Any) -> Operation:
    with torch.no_grad(), outside_modes():
        values = tuple(tensor.detach().clone() for tensor in made)
    return Operation(name, line, tuple(given), tuple(made), values)


def _short(name: str) -> str:
    """Name a function of torch as its documentation's page is headed."""
    return name.removeprefix("torch.").removeprefix("nn.functional.")


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _differ(a: Operation, b: Operation, meeting: Meeting) -> bool:
    if len(a.values) != len(b.values):
        return True
    pairs = zip(a.values, b.values, strict=True)
    return any(_far(left, right, meeting) for left, right in pairs)


def _far(a: torch.Tensor, b: torch.Tensor, meeting: Meeting) -> bool:
    cells = meeting.cells(a, b, heads=True)
    if cells is None or not cells[0].numel():
        return False
    sizes = size(cells[0], mask=True)
    return bool((apart(*cells, mask=True) > EXACT * sizes).any())
