"""Facts of compilation: what is compiled, and hooks that no graph contains.

Dynamo writes into its guards what a graph was made of. Where a graph was made of a
module, and its guards name none of the hooks that the module has now, the hooks came
later, and the graph runs without them: hooks are not guarded on.
"""

import gc
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.dynamo_private import compiled_graphs, skips_guards
from ftlab.probes.naming import clean_name
from ftlab.probes.taps.forward import innermost
from ftlab.records.by_id import ById

_HOOKS = {
    "_forward_hooks": "forward hook",
    "_forward_pre_hooks": "forward pre-hook",
}

_BY_DICT = re.compile(r"\.__dict__\['(\w+)'\]")
"""How guards write an attribute of a module whose ``__getattr__`` is its own."""

_LIBRARIES = (
    "ftlab.probes.",
    "ftlab.replay.",
    "torch.",
    "accelerate.",
    "peft.",
)
"""Whose hooks are none of the user's."""

WALK_EVERY = 16
"""Calls of `hooks_signature` between two walks over the model."""

Owner = tuple[str, torch.nn.Module]

_signatures: ById[torch.nn.Module, tuple[int, int]] = ById()


def compiled_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Read what is compiled in a model.

    Returns
    -------
    dict
        ``modules`` (paths of compiled modules, ``""`` for the model itself), ``graphs``
        (how many graphs of modules are in use), ``ignored_hooks``: by module, what
        kinds of hooks no graph has; and ``unguarded``: compiled modules whose graphs
        go on being used whatever becomes of their parameters. Empty where nothing is
        compiled.
    """
    modules = [clean_name(path) for path, m in model.named_modules() if _is_root(m)]
    graphs: dict[int, list[str]] = {}
    ignored: dict[str, str] = {}
    for chain in _with_hooks(model):
        kinds = _ignored(chain, graphs)
        if kinds:
            ignored[clean_name(chain[-1][0]) or "model"] = ", ".join(kinds)
    unguarded = list(_unguarded(model))
    outside = bool(ignored or unguarded) and not modules
    if not modules and not (outside and _compiled_from_outside(model)):
        return {}
    return {
        "modules": modules,
        "graphs": sum(map(len, graphs.values())),
        "ignored_hooks": ignored,
        "unguarded": unguarded,
    }


def _unguarded(model: torch.nn.Module) -> Iterator[str]:
    """Yield compiled modules with a graph whose guards do not look at the module.

    A guard names what it looks at: ``L['self']._modules[...]``. `torch.compile` can be
    asked to leave such guards out, or not to look at any.
    """
    for path, module in model.named_modules():
        if path and not _is_root(module):
            continue
        graphs = compiled_graphs(innermost(module))
        if graphs and (skips_guards() or not all("['self']" in g for g in graphs)):
            yield clean_name(path) or "model"


def hooks_signature(model: torch.nn.Module) -> int:
    """Give a value that differs when modules have other hooks of the user's.

    It walks the model, so it looks at every sixteenth call, and only once something
    may have been compiled.
    """
    if "torch._dynamo" not in sys.modules:
        return 0
    calls, known = _signatures.get(model, (0, 0))
    if calls % WALK_EVERY == 0:
        known = hash(tuple(_hooks_of(model)))
    _signatures[model] = (calls + 1, known)
    return known


def _hooks_of(model: torch.nn.Module) -> Iterator[tuple[str, str, int]]:
    for path, module in model.named_modules():
        for name in _HOOKS:
            for key, hook in (vars(module).get(name) or {}).items():
                if _users(hook):
                    yield path, name, key


def _is_root(module: torch.nn.Module) -> bool:
    in_place = vars(module).get("_compiled_call_impl") is not None
    return in_place or type(module).__name__ == "OptimizedModule"


def _compiled_from_outside(model: torch.nn.Module) -> bool:
    """Tell whether something compiled calls the model.

    Graphs are found by the code that they were made of, and another model of the class
    has the same code.
    """
    parts = {id(module) for module in model.modules()}
    for each in gc.get_objects():
        if type(each).__name__ == "OptimizedModule":
            if id(vars(each)["_modules"].get("_orig_mod")) in parts:
                return True
        elif type(each) is types.FunctionType and _calls(each, parts):
            return True
    return False


def _calls(function: types.FunctionType, parts: set[int]) -> bool:
    """Tell whether a compiled function is a method of these modules, or the user's."""
    inner = vars(function).get("_torchdynamo_orig_callable")
    if inner is None or getattr(function, "_torchdynamo_disable", False):
        return False
    owner = getattr(inner, "__self__", None)
    if owner is not None:
        return id(owner) in parts
    module = str(getattr(inner, "__module__", ""))
    return not module.startswith((*_LIBRARIES, "transformers.", "bitsandbytes."))


def _with_hooks(model: torch.nn.Module) -> Iterator[list[Owner]]:
    """Yield modules with hooks of the user's, each at the end of its ancestors."""

    def walk(path: str, module: torch.nn.Module, above: list[Owner]) -> Any:
        chain = [*above, (path, module)]
        if any(_users_hooks(module, name) for name in _HOOKS):
            yield chain
        for name, child in module.named_children():
            yield from walk(f"{path}.{name}" if path else name, child, chain)

    yield from walk("", model, [])


def _users_hooks(module: torch.nn.Module, name: str) -> bool:
    hooks = vars(module).get(name) or {}
    return any(_users(hook) for hook in hooks.values())


def _users(hook: Any) -> bool:
    """Tell a hook of the user's from ours and from those of libraries."""
    function = getattr(hook, "func", hook)
    where = getattr(function, "__module__", None) or type(hook).__module__
    return not str(where).startswith(_LIBRARIES)


def _ignored(chain: list[Owner], graphs: dict[int, list[str]]) -> list[str]:
    """Name the kinds of hooks of the last module that no graph was made with.

    A graph counts that was made of the module from the frame of one of its ancestors;
    the model's own hooks are outside of its graph.
    """
    path, module = chain[-1]
    seen = False
    present: set[str] = set()
    for above_path, above in chain[:-1]:
        inner = path[len(above_path) + 1 if above_path else 0 :]
        source = "".join(
            rf"(?:\._modules\['{re.escape(part)}'\]|\.{re.escape(part)})"
            for part in inner.split(".")
        )
        if id(above) not in graphs:
            texts = compiled_graphs(above)
            graphs[id(above)] = [_BY_DICT.sub(r".\1", text) for text in texts]
        for guards in graphs[id(above)]:
            found = re.findall(rf"\['self'\]{source}\.(\w+)", guards)
            seen = seen or bool(found)
            present.update(_HOOKS.keys() & set(found))
    if not seen:
        return []
    return [
        kind
        for name, kind in _HOOKS.items()
        if name not in present and _users_hooks(module, name)
    ]
