"""Private names of Dynamo, the compiler of torch, that the probes need, in one place.

Each has a canary in ``tests/probes/test_dynamo_private.py`` that fails when a new torch
drops or changes it. ruff's rule against private names is off in `torch_private` and
here alone: they exist to hold them.
"""

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# ruff: noqa: SLF001
import torch

from ftlab.probes.torch_private import (
    has_values,
    is_traced,
    is_within_backward,
    unseen_by_modes,
)

Evaluation = Any
"""What Dynamo has put in place of Python's frame evaluation."""


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


def runs_eagerly() -> bool:
    """Tell whether the stance makes compiled code run as it was written."""
    return getattr(_stance(), "stance", "") == "force_eager"


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


def uncompiled(function: Any) -> Any:
    """Return what a wrapper, of ``torch.compile`` or any other, was put around."""
    inside = getattr(function, "_torchdynamo_orig_callable", None)
    return getattr(function, "__wrapped__", None) if inside is None else inside


for _function in (
    suspend_dynamo,
    resume_dynamo,
    is_compiled_call,
    compiles_as_asked,
    is_traced,
    is_within_backward,
    has_values,
    unseen_by_modes,
):
    leave_to_python(_function)
