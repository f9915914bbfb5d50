"""Hooks on single modules, which copies, replicas and traced graphs do not call."""

import contextlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.own_time import own_time
from ftlab.probes.taps.rebinding import stand_in
from ftlab.probes.torch_private import is_traced, scripting, unseen_by_modes
from ftlab.records import replaying
from ftlab.records.handle import Handle, HandleStack, rebind


def is_no_training() -> bool:
    """Whether what runs now is traced, or executed once more by ftlab."""
    return is_traced() or replaying.active()


class ModuleHook:
    """A forward hook of one module; a pickled or copied one does nothing.

    Parameters
    ----------
    tell
        Called with ``path`` and the module's output.
    module
        The hook is for this module, and not for its replicas.
    path
        What ``tell`` shall know it by.
    """

    __slots__ = ("_module_id", "_path", "_tell")

    def __init__(
        self, tell: Callable[[str, Any], None], module: torch.nn.Module, path: str
    ) -> None:
        self._tell = tell
        self._module_id = id(module)
        self._path = path

    def __call__(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        """Tell, except within a traced graph or for a replica."""
        if torch.compiler.is_compiling() or id(module) != self._module_id:
            return
        if not is_no_training():
            with own_time, unseen_by_modes():
                self._tell(self._path, self._seen(args, output))

    def _seen(self, args: Any, output: Any) -> Any:
        return output

    def __reduce__(self) -> tuple[Any, ...]:
        return (getattr, (contextlib.nullcontext(), "__exit__"))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return contextlib.nullcontext().__exit__


class ModulePreHook(ModuleHook):
    """A forward pre-hook with keyword arguments; it tells all inputs in one tuple."""

    __slots__ = ()

    def _seen(self, args: Any, output: Any) -> Any:
        return (*args, *output.values())


class SharedHook(ModuleHook):
    """One hook for many modules: before their forward, or behind it.

    Parameters
    ----------
    tell
        Called with the path of a module and its inputs, or its output.
    paths
        Of each module, by ``id``.
    """

    __slots__ = ("_paths",)

    def __init__(
        self, tell: Callable[[str, Any], None], paths: Mapping[int, str]
    ) -> None:
        self._tell = tell
        self._paths = paths

    def __call__(
        self, module: torch.nn.Module, args: Any, output: Any, *_: Any
    ) -> None:
        """Tell, except within a traced graph or for a replica."""
        path = self._paths.get(id(module))
        if path is None or torch.compiler.is_compiling() or is_no_training():
            return
        with own_time, unseen_by_modes():
            self._tell(path, self._seen(args, output))


class SharedPreHook(SharedHook):
    """The same before the forward; it tells all inputs in one tuple."""

    __slots__ = ()

    def _seen(self, args: Any, output: Any) -> Any:
        return (*args, *output.values()) if output else args


class WholeCallHook(ModuleHook):
    """A forward hook that tells the inputs and the output in a pair."""

    __slots__ = ()

    def _seen(self, args: Any, output: Any) -> Any:
        return args, output


class HooksOfAForward(HandleStack):
    """Hooks on a model and its parts for the length of one forward.

    Where that raises, torch is going through the model's own hooks as it ends, and they
    must not change: they stay on until `remove`, and those of the parts come off.
    """

    def __init__(self) -> None:
        super().__init__()
        self._own = HandleStack()

    def add_own(self, handle: Handle) -> None:
        """Keep a handle of a hook on the model itself."""
        self._own.add(handle)

    def end(self) -> None:
        """Take off what can be; called by a hook of the model that is always called."""
        super().remove()
        if sys.exc_info()[0] is None:
            self._own.remove()

    def remove(self) -> None:
        """Take all of them off."""
        super().remove()
        self._own.remove()

    def __len__(self) -> int:
        return super().__len__() + len(self._own)


def off_while_scripting(hooks: HandleStack) -> Handle:
    """Take hooks off before torch makes a script of a module: they would be in it."""

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        hooks.remove()
        return original(*args, **kwargs)

    instead = stand_in(scripting.create_script_module, around)
    return rebind(scripting, "create_script_module", instead)


leave_to_python(ModuleHook.__call__, callees=True)
leave_to_python(SharedHook.__call__, callees=True)
