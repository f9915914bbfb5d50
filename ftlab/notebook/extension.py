"""``%load_ext ftlab``: everything that is registered with the shell, and its removal.

Loading stays light: neither torch nor matplotlib is imported here; the magics import
the session when they are used.
"""

import atexit
import contextlib
import weakref
from typing import Any

from ftlab.notebook.completions import ftlab_matcher
from ftlab.notebook.endings import detach_after_error
from ftlab.notebook.figures import register_figures
from ftlab.notebook.host import NotebookHost
from ftlab.notebook.magics import FtlabMagics
from ftlab.notebook.namespace import release_debugged
from ftlab.notebook.showing import register_live_objects
from ftlab.notebook.terminal import is_terminal, register_text
from ftlab.records.handle import CallbackHandle, Handle, HandleStack
from ftlab.records.kernel_news import without_kernel_news
from ftlab.session.host import QuietHost, use

_loaded: weakref.WeakKeyDictionary[Any, HandleStack] = weakref.WeakKeyDictionary()


def load(shell: Any) -> None:
    """Register magics, completion, host and formatters with ``shell``, once."""
    if shell in _loaded:
        return
    handles = _loaded[shell] = HandleStack()
    services = NotebookHost(shell)
    text = is_terminal(shell)
    handles.add(use(QuietHost() if text else services))
    handles.add(_magics(shell))
    handles.add(_completion(shell))
    handles.add(register_figures(shell))
    show = register_text(shell) if text else register_live_objects(shell, services)
    handles.add(show)
    handles.add(detach_after_error(shell))
    handles.add(_release_at_exit())
    quiet = contextlib.ExitStack()
    quiet.enter_context(without_kernel_news())
    handles.add(CallbackHandle(quiet.close))


def unload(shell: Any) -> None:
    """Take everything that `load` registered off again; watches go on."""
    handles = _loaded.pop(shell, None)
    if handles is not None:
        handles.remove()


def _magics(shell: Any) -> Handle:
    magics = FtlabMagics(shell)
    shell.register_magics(magics)

    def undo() -> None:
        for kind, names in magics.magics.items():
            for name in names:
                shell.magics_manager.magics[kind].pop(name, None)
        shell.magics_manager.registry.pop(type(magics).__name__, None)
        with contextlib.suppress(ValueError):
            shell.configurables.remove(magics)

    return CallbackHandle(undo)


def _release_at_exit() -> Handle:
    """Let training that waits in a pause unwind when the kernel shuts down."""
    atexit.register(release_debugged)
    return CallbackHandle(lambda: atexit.unregister(release_debugged))


def _completion(shell: Any) -> Handle:
    if shell.Completer is None:
        return CallbackHandle(lambda: None)
    matchers = shell.Completer.custom_matchers
    matchers.append(ftlab_matcher)
    return CallbackHandle(lambda: matchers.remove(ftlab_matcher))
