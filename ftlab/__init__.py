"""The Jupyter-native interactive debugger for fine-tuning language models.

Each name is loaded from its module when it is first used, so that ``import ftlab``
loads neither NumPy nor torch. `ftlab/__init__.pyi` tells type checkers the same table.
"""

import difflib
import importlib
from typing import Any

from ftlab._version import __version__ as __version__

_MODULES = {
    "AdapterBank": "ftlab.session.bank",
    "Checkpoint": "ftlab.session.checkpointing",
    "activations": "ftlab.session.activations",
    "adapters": "ftlab.session.adapters",
    "assert_learning": "ftlab.session.assert_learning",
    "capture": "ftlab.session.capture",
    "compare": "ftlab.session.compare",
    "data": "ftlab.session.data",
    "debug": "ftlab.session.debugging.debug",
    "diff": "ftlab.session.diff",
    "doctor": "ftlab.session.doctor",
    "explain": "ftlab.session.explain",
    "fingerprint": "ftlab.session.fingerprint",
    "flow": "ftlab.session.flow",
    "gradcheck": "ftlab.session.gradcheck",
    "list_rules": "ftlab.session.explain",
    "masks": "ftlab.session.masks",
    "memory": "ftlab.session.memory",
    "memory_snapshot": "ftlab.session.memory",
    "model": "ftlab.session.model",
    "open_run": "ftlab.session.open_run",
    "open_snapshot": "ftlab.session.debugging.snapshots",
    "options": "ftlab.records.settings",
    "preflight": "ftlab.session.preflight.preflight",
    "profile": "ftlab.session.profile",
    "prove": "ftlab.session.prove",
    "release": "ftlab.session.release",
    "roundtrip": "ftlab.session.roundtrip",
    "safe_load": "ftlab.session.safe_save",
    "safe_save": "ftlab.session.safe_save",
    "scope": "ftlab.session.scope",
    "score_faults": "ftlab.session.score",
    "swap": "ftlab.session.swap",
    "tokenizer_diff": "ftlab.session.tokenizer_diff",
    "tokenizer_files": "ftlab.session.tokenizer_files",
    "tokens": "ftlab.session.tokens",
    "watch": "ftlab.session.watch",
}

_NAMESPACES = {
    "faults": "ftlab.faults",
    "when": "ftlab.replay.breakpoints.predicates",
}

_NOT_STARRED = ("data", "model")
"""Names that users give to variables: ``from ftlab import *`` leaves them alone."""

__all__ = sorted({*_MODULES, *_NAMESPACES}.difference(_NOT_STARRED))


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(_NAMESPACES[name])
    if name in _MODULES:
        value = getattr(importlib.import_module(_MODULES[name]), name)
        globals()[name] = value
        return value
    known = sorted((*__all__, *_NOT_STARRED))
    near = difflib.get_close_matches(name, known)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    msg = f"ftlab has no {name!r}; it has {', '.join(known)}.{meant}"
    raise AttributeError(msg, name=name)


def __dir__() -> list[str]:
    return [*__all__, *_NOT_STARRED, "__version__"]


def load_ipython_extension(shell: Any) -> None:
    """Add ftlab's magics to a shell; ``%load_ext ftlab`` calls this."""
    from ftlab.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take everything back that loading added; ``%unload_ext ftlab`` calls this."""
    from ftlab.notebook.extension import unload

    unload(shell)
