"""Act on a module once it has been imported, without importing it first.

A script may set environment variables before it imports torch, and may never import
transformers at all. So what we attach to is attached when the script imports it.
"""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence

from ftlab.records.handle import CallbackHandle, Handle

Action = Callable[[types.ModuleType], None]


def when_imported(name: str, action: Action) -> Handle:
    """Call ``action`` with module ``name``: now if it is loaded, else once it is.

    Examples
    --------
    >>> from ftlab.session.import_hook import when_imported
    >>> handle = when_imported("json", lambda module: print(module.__name__))
    json
    >>> handle.remove()
    """
    module = sys.modules.get(name)
    if module is not None and not _is_loading(module):
        action(module)
        return CallbackHandle(lambda: None)
    finder = _Finder(name, action)
    sys.meta_path.insert(0, finder)
    return CallbackHandle(finder.leave)


def _is_loading(module: types.ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module through the other finders and runs the action after it."""

    def __init__(self, name: str, action: Action) -> None:
        self._name = name
        self._action = action
        self._finding = False

    def leave(self) -> None:
        """Stop looking."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Let the other finders find ``fullname`` and wrap its loader."""
        if fullname != self._name or self._finding:
            return None
        self._finding = True  # another of us, for the same module, asks us back
        try:
            spec = self._find(path, target)
        finally:
            self._finding = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._loaded)
        return spec

    def _find(
        self, path: Sequence[str] | None, target: types.ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in tuple(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(self._name, path, target) if find else None
            if spec is not None and spec.loader is not None:
                return spec
        return None

    def _loaded(self, module: types.ModuleType) -> None:
        # Not when it is found: transformers finds torch to see whether it is there.
        self.leave()
        self._action(module)


class _Loader(importlib.abc.Loader):
    """Loads as the original loader does, then runs the action."""

    def __init__(self, original: importlib.abc.Loader, action: Action) -> None:
        self._original = original
        self._action = action

    def create_module(
        self, spec: importlib.machinery.ModuleSpec
    ) -> types.ModuleType | None:
        """Create the module as the original loader does."""
        return self._original.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute the module, give it its own loader back, and act."""
        module.__loader__ = self._original
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        self._original.exec_module(module)
        self._action(module)
