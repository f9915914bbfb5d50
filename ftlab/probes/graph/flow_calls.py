"""What one pass through the modules shows about the graph: who is in it, who cuts it.

Who calls whom: `ftlab.probes.graph.graph_flow` puts hooks on the modules and tells
`FlowCalls` of every call that begins and ends. Only ``requires_grad``, the grad mode
and addresses are read: nothing is computed.
"""

import functools
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from ftlab.probes.torch_private import has_values

_CHECKPOINT = "CheckpointFunction"
FRAMES = 64
"""Python frames that are searched for a checkpoint, from the module's call outwards."""


class Tensors(NamedTuple):
    """The floating-point tensors of an input or output.

    Attributes
    ----------
    graph
        Whether one of them is in the graph.
    addresses, shapes
        Of all of them.
    """

    graph: bool
    addresses: frozenset[int]
    shapes: frozenset[tuple[int, ...]]

    def __bool__(self) -> bool:
        return bool(self.shapes)


_NONE = Tensors(graph=False, addresses=frozenset(), shapes=frozenset())


@dataclass(frozen=True, slots=True)
class Cut:
    """A place at which tensors lost their graph.

    Attributes
    ----------
    kind
        ``"output"`` (what the module puts out has no graph), ``"hook"`` (it had one
        until a forward hook of the module ran), ``"between"`` (the next module got
        something without a graph), ``"no-grad"`` (the module was called with gradients
        off in a forward that has them on), ``"checkpoint"`` (a reentrant checkpoint
        without an input that requires a gradient).
    op
        ``"detach"`` where the memory is the same as before, else ``""``.
    to
        The next module, for ``"between"``.
    """

    kind: str
    op: str = ""
    to: str = ""


@dataclass(slots=True)
class _Call:
    """One call of a module that has begun."""

    path: str
    graded: bool
    inputs: Tensors
    alive: bool = False
    cut: bool = False
    before: Tensors | None = None
    alive_before: bool = False
    made_before: int = 0
    known: set[int] = field(default_factory=set)
    made: list[tuple[str, Tensors, bool]] = field(default_factory=list)


class FlowCalls:
    """Follows calls of modules and keeps where the graph was cut, in order.

    Parameters
    ----------
    trainable
        Paths of modules that hold a trainable parameter anywhere inside.
    own
        Paths of modules that hold one themselves.
    bare
        Paths of modules without any parameter.
    paths
        Path of each module, by ``id``.

    Attributes
    ----------
    cuts
        Where tensors lost their graph, by path.
    unreturned
        Modules that ran in a forward hook of another one, which is given, while the
        output of that one stayed what it was.
    """

    def __init__(
        self,
        trainable: set[str],
        own: set[str],
        bare: set[str],
        paths: Mapping[int, str],
    ) -> None:
        self.cuts: dict[str, Cut] = {}
        self._trainable = trainable
        self._own = own
        self._bare = bare
        self._paths = paths
        self.unreturned: dict[str, str] = {}
        self._stack: list[_Call] = []
        self._starved = False

    def begin_model(self, inputs: Any) -> None:
        """Hear that the model is called with gradients on; the first call of all."""
        seen = tensors_in(inputs)
        self._stack = [_Call("", True, seen, known=set(seen.addresses))]
        self._starved = False

    def begin(self, path: str, inputs: Any) -> None:
        """Hear that a module is called."""
        call = _Call(path, torch.is_grad_enabled(), tensors_in(inputs))
        parent = self._stack[-1] if self._stack else None
        if parent is not None and parent.graded:
            if not call.graded:
                self._switched_off(parent, call)
            elif call.inputs and not call.inputs.graph:
                self._between(parent, call)
        call.known |= call.inputs.addresses
        if parent is not None:
            parent.known |= call.inputs.addresses
        self._stack.append(call)

    def before_hooks(self, path: str, output: Any) -> None:
        """See what a module puts out before the hooks of others change it."""
        if self._stack and self._stack[-1].path == path:
            call = self._stack[-1]
            call.before, call.alive_before = tensors_in(output), call.alive
            call.made_before = len(call.made)

    def end(self, path: str, made: Tensors) -> None:
        """Hear that a call is over, or was left by an error."""
        if not any(call.path == path for call in reversed(self._stack)):
            return
        call = self._stack.pop()
        while call.path != path:
            call = self._stack.pop()
        alive = call.inputs.graph or _made_alive(call) or path in self._own
        lost = call.graded and alive and bool(made) and not made.graph and not call.cut
        lost = lost and not _handed_on(call, made)
        # A module without parameters may well make constants of what it is given: the
        # angles of a rotary embedding, a mask. It is one that cuts when these are all
        # that the next module gets.
        suspect = lost and path in self._bare
        if lost and not suspect:
            self._lost(call, made)
        self._see_hooks(call, made)
        if self._stack:
            parent = self._stack[-1]
            parent.cut |= call.cut
            parent.alive |= made.graph or suspect
            parent.made.append((path, made, suspect))

    def _see_hooks(self, call: _Call, made: Tensors) -> None:
        """Keep what ran in a hook that has put nothing in the place of the output."""
        before = call.before
        if before is not None and before.addresses == made.addresses:
            for path, _, _ in call.made[call.made_before :]:
                self.unreturned.setdefault(path, call.path)

    def _lost(self, call: _Call, made: Tensors) -> None:
        for path, other, suspect in call.made:
            if suspect and other.addresses & made.addresses:
                self._note(call, path, Cut("output"))
                return
        before = call.before
        kind = "hook" if before is not None and before.graph else "output"
        sources = [before] if kind == "hook" and before is not None else []
        sources += [tensors for _, tensors, _ in call.made if tensors.graph]
        sources += [call.inputs] if call.inputs.graph else []
        same = any(each.addresses & made.addresses for each in sources)
        self._note(call, call.path, Cut(kind, "detach" if same else ""))

    def _between(self, parent: _Call, call: _Call) -> None:
        """Tell whether a module got, without its graph, what another has made."""
        new = call.inputs.addresses - parent.known - parent.inputs.addresses
        for path, made, suspect in reversed(parent.made):
            if suspect and made.addresses & call.inputs.addresses:
                self._note(parent, path, Cut("output"))
                return
            if not made.graph:
                if made.addresses & call.inputs.addresses:
                    return  # it was lost before
                continue
            if made.addresses & call.inputs.addresses:
                self._note(parent, path, Cut("between", "detach", call.path))
                return
            if new and made.shapes & call.inputs.shapes:
                self._note(parent, path, Cut("between", "", call.path))
            return

    def _switched_off(self, parent: _Call, call: _Call) -> None:
        """Tell a reentrant checkpoint from gradients that are just off."""
        frame = _checkpoint_frame()
        if frame is None:
            if call.path in self._trainable or call.inputs.graph:
                self._note(parent, call.path, Cut("no-grad"))
            return
        arguments = frame.f_locals
        # Blocks that follow get no graph because this one has none.
        if self._starved or tensors_in(arguments.get("args")).graph:
            return
        module = _module_of(arguments.get("run_function"))
        path = self._paths.get(id(module), call.path)
        if path in self._trainable:
            self._starved = True
            self._note(parent, path, Cut("checkpoint"))

    def _note(self, call: _Call, path: str, cut: Cut) -> None:
        call.cut = True
        self.cuts.setdefault(path, cut)


def _made_alive(call: _Call) -> bool:
    """Tell whether a part that ran before the module's hooks put out a graph.

    A hook may run modules of its own; what these put out was never in the output.
    """
    before = call.before
    return call.alive if before is None or before.graph else call.alive_before


def _handed_on(call: _Call, made: Tensors) -> bool:
    """Tell whether a module puts out what it got, or a part made, without a graph.

    Then nothing is lost: what else its parts put out, it does not use.
    """
    parts = [tensors for _, tensors, suspect in call.made if not suspect]
    parts.append(call.inputs)
    living = {a for each in parts if each.graph for a in each.addresses}
    still = {a for each in parts if not each.graph for a in each.addresses}
    return made.addresses <= still - living


def tensors_in(value: Any) -> Tensors:
    """Look at the floating-point tensors in an input or output."""
    if type(value) is tuple and len(value) == 1:
        (value,) = value
    if type(value) is torch.Tensor:  # as nearly always
        if not (value.is_floating_point() and value.numel() and has_values(value)):
            return _NONE
        address, shape = value.data_ptr(), tuple(value.shape)
        return Tensors(value.requires_grad, frozenset((address,)), frozenset((shape,)))
    found = list(floats_in(value))
    return Tensors(
        any(each.requires_grad for each in found),
        frozenset(each.data_ptr() for each in found),
        frozenset(tuple(each.shape) for each in found),
    )


def floats_in(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """Yield the floating-point tensors in an input or output, in order."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() and value.numel() and has_values(value):
            yield value
    elif depth and isinstance(value, Mapping):
        for each in value.values():
            yield from floats_in(each, depth - 1)
    elif depth and isinstance(value, tuple | list):
        for each in value:
            yield from floats_in(each, depth - 1)


def _checkpoint_frame() -> types.FrameType | None:
    """Find the forward of a reentrant checkpoint among the callers."""
    frame: types.FrameType | None = sys._getframe(2)  # noqa: SLF001  documented
    for _ in range(FRAMES):
        if frame is None:
            return None
        code = frame.f_code
        if code.co_name == "forward" and _CHECKPOINT in code.co_qualname:
            return frame
        frame = frame.f_back
    return None


def _module_of(function: Any) -> torch.nn.Module | None:
    """Return the module whose forward a checkpoint was asked to run."""
    if isinstance(function, functools.partial):
        first = next(iter(function.args), None)
        bound = isinstance(first, torch.nn.Module)
        return first if bound else _module_of(function.func)
    owner = getattr(function, "__self__", function)
    return owner if isinstance(owner, torch.nn.Module) else None
