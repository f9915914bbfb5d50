"""Follows values through an execution, and notes where they leave the graph.

Who calls whom: `FlowTrace` is a mode that every function of torch goes through. What a
tensor carries is a set of `Stop`: the places at which a part of its history has lost
its graph. A later stop takes in the earlier ones, so that what the loss carries are the
last stops of each way to it.
"""

import contextlib
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
import torch.autograd.function
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils.weak import WeakIdKeyDictionary

from ftlab.records.flow import StopKind
from ftlab.replay.torch_private import reserve_key, storage_key
from ftlab.replay.tracing.finite import tensor_leaves
from ftlab.replay.tracing.modules import ModuleStack
from ftlab.replay.tracing.site import shown, source_lines

_FUNCTION_FILE = torch.autograd.function.__file__
_CONTEXT_FILE = torch.utils._contextlib.__file__  # noqa: SLF001  where decorators run

_KINDS: Mapping[StopKind, str] = {
    "detach": "detach detach_ detach_copy",
    "data": "data.__get__ data.__set__",
    "python": """item tolist numpy __array__ __float__ __int__ __index__ __dlpack__
        __reduce_ex__ untyped_storage storage""",
    "integer": "long int short char byte bool",
    "new tensor": "tensor as_tensor asarray new_tensor __deepcopy__ Parameter",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}
"""Functions that stop every gradient, whatever they are given."""

_ASKED = """requires_grad grad_fn grad is_leaf shape dtype device layout ndim _version
    _backward_hooks names output_nr"""
_QUESTIONS = frozenset(_ASKED.split())
"""Attributes that hand on no values."""

_WITHOUT = """size dim stride numel storage_offset is_complex is_floating_point data_ptr
    is_contiguous element_size nelement get_device register_hook retain_grad backward
    __len__ __bool__ __repr__ __format__ __hash__ is_nonzero __contains__ empty_like
    zeros_like ones_like rand_like randn_like full_like new_empty new_zeros new_ones
    new_full is_same_size allclose equal register_post_accumulate_grad_hook"""
_NO_VALUES = frozenset(_WITHOUT.split())
"""Functions of which no values come, or none that a loss is computed with."""

_SHAPED = frozenset({"expand_as", "view_as", "reshape_as", "type_as", "to"})
"""Functions whose further arguments lend a shape or a dtype alone."""

_WRITING = """__setitem__ data.__set__ __iadd__ __isub__ __imul__ __itruediv__ __imod__
    __ifloordiv__ __ipow__ __imatmul__ __iand__ __ior__ __ixor__"""
_WRITES = frozenset(_WRITING.split())


@dataclass(eq=False, slots=True)
class Stop:
    """A place at which values lose their graph.

    Attributes
    ----------
    kind, op, line, library_line, module
        As in `ftlab.records.flow.FlowStop`.
    nodes
        Nodes of the graph that lead up to it.
    leaves
        Parameters that were given as they are.
    earlier
        Stops that what was given carried.
    floats
        Whether it makes numbers, rather than indices or truth values.
    beside
        Whether it is of indices that come beside values with a graph, as those of a
        router: nothing is lost by them where the values are used.
    """

    kind: StopKind
    op: str
    line: str
    library_line: str
    module: str
    nodes: dict[Any, None] = field(default_factory=dict)
    leaves: dict[int, torch.Tensor] = field(default_factory=dict)
    earlier: dict["Stop", None] = field(default_factory=dict)
    floats: bool = False
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """The operation that made a node of the graph.

    Attributes
    ----------
    op, line, module
        Its name, its innermost line outside torch, the module that was running.
    """

    op: str
    line: str
    module: str


class FlowTrace(TorchFunctionMode):
    """Follows the values of one execution.

    Attributes
    ----------
    made
        By node of the graph, the operation that made it.
    order
        Modules in the order in which they first computed.
    escaped
        Stops whose values have left torch.
    """

    def __init__(
        self, modules: ModuleStack, parameters: Iterable[torch.Tensor]
    ) -> None:
        super().__init__()
        self._parameters = {id(each) for each in parameters}
        self.made: dict[Any, Made] = {}
        self.order: dict[str, None] = {}
        self.escaped: dict[Stop, None] = {}
        self._modules = modules
        self._carried: Any = WeakIdKeyDictionary()
        self._written: dict[int, dict[Stop, None]] = {}
        self._reserved: list[Any] = []
        self._inside: Any = WeakIdKeyDictionary()
        self._aliases: Any = WeakIdKeyDictionary()
        self._memories: dict[int, weakref.ref[torch.Tensor]] = {}
        self._off: Stop | None = None
        self._switch: tuple[str, str] | None = None
        self._calls: dict[FrameType, Stop] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` and follow what it makes of what."""
        kwargs = kwargs or {}
        name = _short(func)
        if name == "_set_grad_enabled":
            before = torch.is_grad_enabled()
            outputs = func(*args, **kwargs)
            if before and not torch.is_grad_enabled():
                self._switch, self._off = _switched_at(), None
            elif torch.is_grad_enabled():
                self._switch = self._off = None
            return outputs
        if _asks(name):
            return func(*args, **kwargs)
        given = tensor_leaves(args[:1] if _last(name) in _SHAPED else (args, kwargs))
        sources = _Sources(self, given)  # before: the function may write to them
        outputs = func(*args, **kwargs)
        if given:
            target = _written_to(name, args, kwargs)
            self._follow(name, target, sources, tensor_leaves(outputs))
        return outputs

    def of(self, tensor: torch.Tensor) -> dict[Stop, None]:
        """Return the stops that a tensor carries."""
        carried = dict(self._carried.get(tensor) or ())
        if self._written:
            carried.update(self._written.get(_memory(tensor), ()))
        if tensor.requires_grad:
            if tensor in self._inside:
                carried = self._came_out(tensor, carried)
            unknown = tensor.grad_fn is None and id(tensor) not in self._parameters
            if unknown and tensor not in self._carried:
                carried.update(self._copied_leaf(tensor))
        return carried

    def _came_out(
        self, tensor: torch.Tensor, carried: Mapping[Stop, None]
    ) -> dict[Stop, None]:
        """Return what the result of a custom function carries: it has a graph now."""
        call = self._inside.pop(tensor)
        stop = self._calls[call]
        made = Made(stop.op, stop.library_line, stop.module)
        if tensor.grad_fn is not None:
            self.made.setdefault(tensor.grad_fn, made)
        carried = {each: None for each in carried if each is not stop}
        self._carried[tensor] = carried
        return carried

    def __enter__(self) -> "FlowTrace":
        super().__enter__()
        # no function of torch: what a new parameter is made of is seen in its class
        self._new = vars(torch.nn.Parameter)["__new__"]

        def made(cls: type, data: Any = None, *rest: Any, **named: Any) -> Any:
            parameter = self._new.__func__(cls, data, *rest, **named)
            if isinstance(data, torch.Tensor):
                self._copied_leaf(parameter)
            return parameter

        torch.nn.Parameter.__new__ = made  # type: ignore[method-assign]
        return self

    def __exit__(self, *exception: Any) -> None:
        torch.nn.Parameter.__new__ = self._new  # type: ignore[method-assign]
        super().__exit__(*exception)

    def _copied_leaf(self, tensor: torch.Tensor) -> dict[Stop, None]:
        """Return the stop of a new leaf that is made of values of the graph."""
        known = self._memories.get(_memory(tensor), lambda: None)()
        if known is None or known is tensor or not known.requires_grad:
            return {}
        user, library = source_lines()
        stop = Stop("new tensor", "Parameter", user, library, self._running())
        stop.floats = True
        _lead_to(stop, [(known, known.grad_fn)], self.of(known))
        self._carried[tensor] = {stop: None}
        return {stop: None}

    def _running(self) -> str:
        return self._modules.innermost[0] or ""

    def _follow(
        self,
        name: str,
        target: torch.Tensor | None,
        sources: "_Sources",
        made: Sequence[torch.Tensor],
    ) -> None:
        self.order.setdefault(self._running())
        results = made if target is None else [target, *made]
        carried = self._carried_on(name, target, sources, results)
        indices = self._indices(name, sources, results)
        for each in results:
            whole = not each.is_floating_point() and not each.is_complex()
            self._carried[each] = indices if whole and indices else carried
            if each.is_floating_point() and each.requires_grad:
                self._memories[_memory(each)] = weakref.ref(each)
        kind = _kind(name)
        if kind in ("detach", "data"):
            self._aliases.update(dict.fromkeys(made))
        if target is not None:
            self._write(name, target, sources, carried)
        if kind == "python":
            self.escaped.update(carried)

    def _carried_on(
        self,
        name: str,
        target: torch.Tensor | None,
        sources: "_Sources",
        results: Sequence[torch.Tensor],
    ) -> dict[Stop, None]:
        """Return what results carry: what was given does, or a stop that it is."""
        alive = [each for each in results if each.requires_grad]
        blocks = not torch.is_grad_enabled() or _kind(name) is not None
        if alive and not blocks:
            self._note(name, [each for each in alive if each not in sources])
        if alive and not blocks and (target is None or target.requires_grad):
            self._off = None
            return sources.carried
        # without gradients, a view of what requires one says that it does
        lost = sources.besides(target) if alive else sources.alive
        if lost or (blocks and sources.carried):
            return {self._stopped(name, lost, sources.carried, results): None}
        return sources.carried

    def _indices(
        self, name: str, sources: "_Sources", results: Sequence[torch.Tensor]
    ) -> dict[Stop, None]:
        """Return the stop that indices are which come beside values of the graph."""
        alive = any(each.requires_grad for each in results)
        whole = any(not e.is_floating_point() and not e.is_complex() for e in results)
        if not (alive and whole and sources.alive):
            return {}
        user, library = source_lines()
        stop = Stop("integer", name, user, library, self._running(), beside=True)
        _lead_to(stop, sources.alive, sources.carried)
        return {stop: None}

    def _write(
        self,
        name: str,
        target: torch.Tensor,
        sources: "_Sources",
        carried: Mapping[Stop, None],
    ) -> None:
        """Remember what memory carries that was written to, for all who share it."""
        written = dict(carried)
        others = sources.besides(target)
        if target in self._aliases and target.requires_grad and others:
            user, library = source_lines()
            stop = Stop("data", name, user, library, self._running(), floats=True)
            _lead_to(stop, others, carried)
            written = {stop: None}
        if written:
            self._written.setdefault(_memory(target), {}).update(written)
            with contextlib.suppress(NotImplementedError):
                self._reserved.append(reserve_key(target))

    def _note(self, name: str, alive: Iterable[torch.Tensor]) -> None:
        note = Made(name, source_lines()[1], self._running())
        for each in alive:
            if each.grad_fn is not None:
                self.made.setdefault(each.grad_fn, note)

    def _stopped(
        self,
        name: str,
        alive: Iterable["_Alive"],
        carried: Mapping[Stop, None],
        results: Sequence[torch.Tensor],
    ) -> Stop:
        """Return the stop that an operation is, or that it is a part of."""
        call = _function_call()
        if call is not None:
            stop = self._calls.get(call)
            if stop is None:
                stop = self._calls[call] = _of_function(call, self._running())
            self._inside.update(dict.fromkeys(results, call))
        elif not torch.is_grad_enabled():
            stop = self._off
            if stop is None:
                user, library = self._switch or source_lines()
                running = self._running()
                stop = self._off = Stop("no_grad", name, user, library, running)
        else:
            user, library = source_lines()
            kind = _kind(name) or ("operation" if _any_float(results) else "integer")
            stop = Stop(kind, name, user, library, self._running())
        stop.floats = stop.floats or _any_float(results)
        _lead_to(stop, alive, carried)
        return stop


class _Sources:
    """What a function is given, as it is before the function runs."""

    __slots__ = ("_given", "alive", "carried")

    def __init__(self, trace: FlowTrace, given: Iterable[torch.Tensor]) -> None:
        self._given = {(id(each), each.grad_fn) for each in given}
        self.alive: list[_Alive] = []
        self.carried: dict[Stop, None] = {}
        for each in given:
            self.carried.update(trace.of(each))
            if each.requires_grad:
                self.alive.append((each, each.grad_fn))

    def besides(self, target: torch.Tensor | None) -> "list[_Alive]":
        """Return what requires a gradient, without what is written to."""
        return [each for each in self.alive if each[0] is not target]

    def __contains__(self, tensor: torch.Tensor) -> bool:
        """Say whether a result is what was given, as it was."""
        return (id(tensor), tensor.grad_fn) in self._given


_Alive = tuple[torch.Tensor, Any]
"""A tensor that requires a gradient, and the node of the graph that it had then."""


def _lead_to(stop: Stop, alive: Iterable[_Alive], carried: Mapping[Stop, None]) -> None:
    stop.earlier.update({each: None for each in carried if each is not stop})
    for each, node in alive:
        if node is None:
            stop.leaves[id(each)] = each
        else:
            stop.nodes[node] = None


def _short(func: Any) -> str:
    name = resolve_name(func) or getattr(func, "__name__", str(func))
    return name.removeprefix("torch.").removeprefix("nn.functional.")


def _last(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[-2:]) if parts[-1] in ("__get__", "__set__") else parts[-1]


def _kind(name: str) -> StopKind | None:
    return _KIND_OF.get(_last(name))


def _asks(name: str) -> bool:
    """Say whether a function only asks about a tensor."""
    last = _last(name)
    if last.endswith("__get__"):
        attribute = last.split(".")[0]
        return attribute in _QUESTIONS or attribute.startswith("is_")
    return last in _NO_VALUES


def _memory(tensor: torch.Tensor) -> int:
    try:
        return storage_key(tensor)
    except (NotImplementedError, ValueError):  # wrapped by torch.func, or lazy
        return id(tensor)


def _any_float(tensors: Iterable[torch.Tensor]) -> bool:
    return any(each.is_floating_point() for each in tensors)


def _written_to(name: str, args: Any, kwargs: Mapping[str, Any]) -> torch.Tensor | None:
    """Return the tensor that a function writes to."""
    out = kwargs.get("out")
    if isinstance(out, torch.Tensor):
        return out
    last = _last(name)
    in_place = last.endswith("_") and not last.endswith("__")
    if in_place or last in _WRITES:
        first = args[0] if args else None
        return first if isinstance(first, torch.Tensor) else None
    return None


def _function_call() -> FrameType | None:
    """Return the outermost call of a custom function's forward that is under way."""
    found, frame = None, sys._getframe(1)  # noqa: SLF001  inspect is ten times slower
    at: FrameType | None = frame
    while at is not None:
        code = at.f_code
        if code.co_filename == _FUNCTION_FILE and code.co_name == "apply":
            found = at
        at = at.f_back
    return found


def _of_function(call: FrameType, module: str) -> Stop:
    name = getattr(call.f_locals.get("cls"), "__name__", "Function")
    user, library = source_lines(since=call)
    kind: StopKind = "checkpoint" if name == "CheckpointFunction" else "function"
    return Stop(kind, name, user, library, module)


def _switched_at() -> tuple[str, str]:
    """Return the line that switched gradients off: a ``with``, or what is decorated."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  see above
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _CONTEXT_FILE and code.co_name == "decorate_context":
            decorated = getattr(frame.f_locals.get("func"), "__code__", None)
            if decorated is not None:
                where = (decorated.co_filename, decorated.co_firstlineno)
                return "", shown(*where, decorated.co_name)
        frame = frame.f_back
    return source_lines()
