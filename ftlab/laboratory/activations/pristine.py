"""Classes of transformers as they are in its files, whatever was put over them."""

import functools
import importlib.util
import sys
import types
from typing import Any

_KNOWN = {"transformers", "torch", "numpy", *sys.stdlib_module_names} - {"__main__"}


@functools.cache
def _executed(name: str) -> dict[str, Any]:
    """Return what a module's file makes when it is executed once more on its own."""
    again = f"{name}_of_the_file"
    spec = importlib.util.spec_from_file_location(again, sys.modules[name].__file__)
    if spec is None or spec.loader is None:
        return {}
    module = importlib.util.module_from_spec(spec)
    sys.modules[again] = module  # its dataclasses look themselves up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[again]
    return vars(module)


def pristine(kind: Any) -> Any:
    """Return the class of that name from its file."""
    return _executed(kind.__module__).get(kind.__name__, kind)


def has_patches(kind: type) -> bool:
    """Say whether methods of a class, or functions of its file, were replaced."""
    if not kind.__module__.startswith("transformers.models."):
        return False
    space = vars(sys.modules[kind.__module__])
    if any(_is_foreign(each) for each in vars(kind).values()):
        return True
    foreign = {name for name, each in space.items() if _is_foreign(each)}
    # files import functions of other packages too, as Wav2Vec2 does of safetensors
    own = _executed(kind.__module__) if foreign else {}
    return any(space[name] is not own.get(name) for name in foreign)


def _is_foreign(value: Any) -> bool:
    own = isinstance(value, types.FunctionType)
    return own and str(value.__module__).partition(".")[0] not in _KNOWN
