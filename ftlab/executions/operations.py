"""The operations behind one place of an execution, and where two sides' part."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from ftlab.executions.births import around, maker
from ftlab.executions.distance import EXACT, apart, size
from ftlab.executions.listening import Place
from ftlab.executions.passes import Beside
from ftlab.executions.tape import of_weight, weight_gradients
from ftlab.executions.tokens import Meeting
from ftlab.replay.torch_private import TorchDispatchMode, current_node, outside_modes
from ftlab.replay.tracing.finite import tensor_leaves
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
    within
        What a node of backward has torch compute.
    """

    name: str
    line: str
    given: tuple[torch.Tensor, ...]
    made: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]
    within: str = ""


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
        made, given = tensor_leaves(outputs), tensor_leaves((args, kwargs))
        if made and self.is_noted(given, made):
            line = source_lines()[1]
            self.frames[-1].append(_noted(_short(name), line, given, made))
        return outputs

    def is_noted(self, given: list[torch.Tensor], made: list[torch.Tensor]) -> bool:
        """Say whether a function that makes some tensors of others is noted."""
        return True


class Dropping(ForwardOperations):
    """Notes those alone that drop the gradient of what they are given."""

    def is_noted(self, given: list[torch.Tensor], made: list[torch.Tensor]) -> bool:
        """Say so; what a function of autograd computes without is not dropped."""
        floats = [each.requires_grad for each in made if each.is_floating_point()]
        dropped = bool(floats) and not any(floats) and torch.is_grad_enabled()
        return dropped and any(each.requires_grad for each in given)


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
            made = tensor_leaves(results(func, args, kwargs, outputs))
            given = tensor_leaves((args, kwargs))
            name, within, line = (
                node.name(),
                str(func.overloadpacket),
                source_lines()[1],
            )
            if name == "ReplacedBackward":  # ours: a sum, or what a hook computes
                name = within
            self.frames[-1].append(_noted(name, line, given, made, within))
        return outputs


Operations = ForwardOperations | BackwardOperations
Parted = tuple[Operation | None, Operation | None] | None


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
        operations: Operations,
        wanted: Place,
        **of: Any,
    ) -> None:
        super().__init__(of.pop("tape"), of.pop("meeting"), **of)
        self.reached: list[Operation] = []
        self._operations = operations
        self._backward = isinstance(operations, BackwardOperations)
        self._wanted = wanted
        self._maker = maker(wanted, self._modules, not self._backward)[0]
        self._running = ""
        self._its: list[Operation] = []

    def value(self, place: Place, tensor: torch.Tensor, *, again: bool) -> torch.Tensor:
        """Hold the running module's operations where they are wanted."""
        if place == self._wanted and not self._backward and not again:
            frame = self._operations.frames[-1]
            dropping = isinstance(self._operations, Dropping)
            self.reached = frame[:] if dropping else leading_to(tensor, frame)
        return super().value(place, tensor, again=again)

    def gradient(self, place: Place, gradient: torch.Tensor) -> torch.Tensor | None:
        """Hold the operations of backward, of the module that made the gradient."""
        if self._backward:
            if self._running == self._maker:
                self._its += self._operations.frames[-1]
            self._operations.frames[-1].clear()
            if place == self._wanted:
                self.reached = leading_to(gradient, self._its)
            own = place.kind == "out" or place.module == self._maker
            module = place.module
            self._running = module if own else around(module, self._modules)
        return super().gradient(place, gradient)

    def finished(self, model: torch.nn.Module) -> None:
        """Hold the operations that led to a parameter's gradient."""
        super().finished(model)
        for name, gradient in weight_gradients(model):
            if of_weight(name) == self._wanted:
                since = [*self._its, *self._operations.frames[-1]]
                self.reached = leading_to(gradient, since)

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


def parting(a: list[Operation], b: list[Operation], meeting: Meeting) -> Parted:
    """Return the first operations of two sides that do not make the same.

    Operations are paired by name and order; one is ``None`` where a side has none in
    this place. ``None`` where all that are paired make the same.
    """
    names = [[(each.name, each.within) for each in side] for side in (a, b)]
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


def _noted(name: str, line: str, given: Any, made: Any, within: str = "") -> Operation:
    with torch.no_grad(), outside_modes():
        values = tuple(tensor.detach().clone() for tensor in made)
    return Operation(name, line, tuple(given), tuple(made), values, within)


def _short(name: str) -> str:
    """Name a function of torch as its documentation's page is headed."""
    return name.removeprefix("torch.").removeprefix("nn.functional.")


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
