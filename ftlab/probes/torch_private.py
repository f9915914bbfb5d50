"""Private names of torch that the probes need, in one place.

Each has a canary in ``tests/probes/test_torch_private.py`` that fails when a new torch
drops or changes it. ruff's rule against private names is off in this file alone: it
exists to hold them.
"""

import contextlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

# ruff: noqa: SLF001
import torch
import torch.utils.checkpoint

Evaluation = Any
"""What Dynamo has put in place of Python's frame evaluation."""

scripting: Any = torch.jit._recursive
"""Where ``torch.jit.script`` finds ``create_script_module``."""


def foreach_l2(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Give each tensor's L2 norm, accumulated in float32, or float64 where one is."""
    wide = any(tensor.dtype is torch.float64 for tensor in tensors)
    dtype = torch.float64 if wide else torch.float32  # torch refuses to narrow
    return torch._foreach_norm(list(tensors), 2, dtype=dtype)


def foreach_max(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Give each tensor's largest magnitude; NaN and infinities propagate."""
    return torch._foreach_norm(list(tensors), torch.inf)


def versions(tensors: Iterable[torch.Tensor | None]) -> list[tuple[int, int] | None]:
    """Tell each tensor's identity and its count of in-place changes.

    Two equal answers mean that nothing was written in between. Costs no
    synchronisation.
    """
    return [None if t is None else (id(t), t._version) for t in tensors]


def is_within_backward() -> bool:
    """Tell whether this thread is executing a graph right now."""
    return torch._C._current_graph_task_id() != -1


def is_traced() -> bool:
    """Tell whether operations are recorded or transformed instead of just run.

    So it is within ``torch.func`` transforms, ``FakeTensorMode``, ``make_fx`` and
    ``torch.jit.trace``: tensors have no values that could be read, or what is done to
    them becomes part of a graph.
    """
    private: Any = torch._C
    if private._functorch.peek_interpreter_stack() is not None:
        return True
    if private._get_tracing_state() is not None:
        return True
    keys = private._TorchDispatchModeKey
    modes = map(private._get_dispatch_mode, (keys.FAKE, keys.PROXY))
    return any(mode is not None for mode in modes)


def has_values(tensor: torch.Tensor) -> bool:
    """Tell whether there are numbers behind a tensor, and not a shape only."""
    return not (tensor.is_meta or isinstance(tensor, torch._subclasses.FakeTensor))


def node_number(node: Any) -> int | None:
    """Tell which node of this thread's graphs it is, in the order of their making.

    ``None`` for what no operation has made: the end of a graph.
    """
    number = node._sequence_nr()
    return None if number >= 1 << 63 else number


def scale_of(scaler: Any) -> torch.Tensor | None:
    """Return the scale of a GradScaler on its device, ``None`` before its first use.

    ``get_scale()`` would wait for the device.
    """
    scale = getattr(scaler, "_scale", None)
    return scale if isinstance(scale, torch.Tensor) else None


def scale_left_to(optimizer: torch.optim.Optimizer) -> torch.Tensor | None:
    """Return the scale that a fused optimizer divides out by itself, in its step."""
    return getattr(optimizer, "grad_scale", None)


def overflow_seen_by(optimizer: torch.optim.Optimizer) -> torch.Tensor | None:
    """Return what tells a fused optimizer to skip its step, within its step."""
    return getattr(optimizer, "found_inf", None)


def kinds_made() -> set[type]:
    """List the classes of which there has been an optimizer: their step is marked."""
    kinds: list[Any] = [torch.optim.Optimizer]
    for kind in kinds:  # it grows
        kinds += type.__subclasses__(kind)
    return {kind for kind in kinds if getattr(kind.step, "hooked", False)}


def is_under_construction(scheduler: Any) -> bool:
    """Tell whether ``scheduler.step`` is its constructor's call; some never count."""
    uncounted = getattr(scheduler, "_step_count", 1) == 0
    return uncounted and getattr(scheduler, "_is_initial", True)


def suspend_dynamo() -> Evaluation:
    """Keep Dynamo from compiling the frames that are called from here on.

    Under ``torch.compile`` a hook runs while Dynamo looks for frames to compile. What
    is returned goes to `resume_dynamo`. ``torch.compiler.disable`` does the same, at
    the price of importing ``torch._dynamo``.
    """
    return torch._C._dynamo.eval_frame.set_eval_frame(None)


def resume_dynamo(callback: Evaluation) -> None:
    """Undo `suspend_dynamo`."""
    torch._C._dynamo.eval_frame.set_eval_frame(callback)


def is_compiled_call() -> bool:
    """Tell whether what runs in this thread right now is looked at by Dynamo."""
    callback = suspend_dynamo()
    resume_dynamo(callback)
    return callback is not None


def compiled_graphs(module: torch.nn.Module) -> list[str]:
    """Return the guards of each graph that Dynamo has made of a module's forward.

    They name what the graph was made of. Nothing where Dynamo was never used, or where
    this torch does not tell.
    """
    dynamo: Any = sys.modules.get("torch._dynamo.eval_frame")
    entries = getattr(dynamo, "_debug_get_cache_entry_list", None)
    if entries is None:
        return []
    found, function = [], getattr(module, "forward", None)
    while function is not None:
        code = getattr(function, "__code__", None)
        if code is not None:
            found += [text for each in entries(code) if (text := _guards(each))]
        function = getattr(function, "__wrapped__", None)
    return found


def _guards(entry: Any) -> str:
    """Write out a graph's guards; nothing where they speak of what is gone."""
    try:
        return str(entry.guard_manager)
    except ReferenceError:
        return ""


def skips_guards() -> bool:
    """Tell whether compiled graphs are used now without a look at their guards."""
    return getattr(_stance(), "skip_guard_eval_unsafe", False) is True


def refuses_to_compile() -> bool:
    """Tell whether the stance makes Dynamo raise where it would compile something."""
    return skips_guards() or getattr(_stance(), "stance", "") == "fail_on_recompile"


def compiles_as_asked() -> bool:
    """Tell whether no stance keeps what is compiled from running or being made."""
    return getattr(_stance(), "stance", "") == "default"


def _stance() -> Any:
    return getattr(sys.modules.get("torch._dynamo.eval_frame"), "_stance", None)


def compilations() -> list[Any]:
    """Return what Dynamo noted of the frames it has last compiled, or tried to."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return list(getattr(utils, "_compilation_metrics", ()))


def graphs_made() -> tuple[tuple[int, int], ...]:
    """Tell of which code graphs are in use, and how many of each."""
    return tuple((id(code), len(entries)) for code, entries in _graphs())


def graphs_look_at(*names: str, at: type | None = None) -> bool:
    """Tell whether the guards of a graph in use look at something of such a name.

    ``at`` is a class of which such a graph must have met an object.
    """
    if (made := graphs_made()) != _guards_of.made:
        _guards_of.made = made
        _guards_of.texts = [_guards(e) for _, entries in _graphs() for e in entries]
    met = "" if at is None else f", {id(at)})"
    return any(
        met in text and any(name in text for name in names) for text in _guards_of.texts
    )


def _graphs() -> list[tuple[types.CodeType, list[Any]]]:
    frames: Any = sys.modules.get("torch._dynamo.convert_frame")
    dynamo: Any = sys.modules.get("torch._dynamo.eval_frame")
    entries_of = getattr(dynamo, "_debug_get_cache_entry_list", None)
    if entries_of is None:
        return []
    seen = getattr(getattr(frames, "input_codes", None), "seen", ())
    codes = [code for each in tuple(seen) if (code := each()) is not None]
    return [(code, entries_of(code)) for code in codes]


@dataclass(slots=True)
class _Guards:
    """What was written out last: of how many graphs, and their guards."""

    made: tuple[tuple[int, int], ...] = ()
    texts: list[str] = field(default_factory=list)


_guards_of = _Guards()


def leave_to_python(function: Callable[..., Any], *, callees: bool = False) -> None:
    """Make Dynamo never compile frames of ``function`` itself, nor of what is in it.

    With ``callees`` it leaves alone what the function calls, too (torch 2.8 and later).
    """
    _leave_code(getattr(function, "__code__"), callees)  # noqa: B009  not in its type


def leave_hooks_to_python() -> None:
    """Do so with what torch itself runs only where a module has hooks.

    Dynamo leaves it to Python in any case, once it has looked at it; a stance that
    refuses to compile anything new raises as soon as it would look.
    """
    for code in torch.nn.Module._call_impl.__code__.co_consts:
        if isinstance(code, types.CodeType):
            _leave_code(code, callees=False)
    scripts: Any = torch.jit
    for function in (torch.compiler.is_compiling, scripts.is_scripting):
        leave_to_python(function)


def _leave_code(code: types.CodeType, callees: bool) -> None:
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _leave_code(inner, callees)
    dynamo: Any = torch._C._dynamo.eval_frame
    if hasattr(dynamo, "skip_code"):  # torch < 2.8
        dynamo.skip_code(code)
        return
    skip, default = dynamo._FrameAction.SKIP, dynamo._FrameAction.DEFAULT
    below = skip if callees else default
    dynamo.set_code_exec_strategy(code, dynamo._FrameExecStrategy(skip, below))


class _RunOnce:
    """Stands in for the function that a reentrant checkpoint is."""

    @staticmethod
    def apply(function: Callable[..., Any], _preserve: bool, *args: Any) -> Any:
        return function(*args)


def _run_once(*_args: Any, **_kwargs: Any) -> Iterator[None]:
    """Stand in for what goes before and after the function of a checkpoint."""
    yield


@contextlib.contextmanager
def without_checkpoints() -> Iterator[None]:
    """Let ``torch.utils.checkpoint`` keep what it computes, and compute nothing again.

    It looks these two up whenever it is called, whoever imported it and when.
    """
    module: Any = torch.utils.checkpoint
    names = ("CheckpointFunction", "_checkpoint_without_reentrant_generator")
    before = [getattr(module, name) for name in names]
    module.CheckpointFunction = _RunOnce
    module._checkpoint_without_reentrant_generator = _run_once
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(module, name, value)


def uncompiled(function: Any) -> Any:
    """Return what a wrapper, of ``torch.compile`` or any other, was put around."""
    inside = getattr(function, "_torchdynamo_orig_callable", None)
    return getattr(function, "__wrapped__", None) if inside is None else inside


leave_to_python(suspend_dynamo)
leave_to_python(resume_dynamo)
for _function in (
    is_compiled_call,
    is_traced,
    is_within_backward,
    has_values,
    compiles_as_asked,
):
    leave_to_python(_function)
