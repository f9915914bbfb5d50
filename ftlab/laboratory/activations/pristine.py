"""Classes of transformers as they are in its files, whatever was put over them."""

import functools
import importlib.util
import sys
import types
from typing import Any

_KNOWN = {"transformers", "torch", "numpy", *sys.stdlib_module_names} - {"__main__"}


@functools.cache
def pristine(kind: Any) -> Any:
    """Return the class of that name from its file, executed once more on its own."""
    path = str(sys.modules[kind.__module__].__file__)
    name = f"{kind.__module__}_of_the_file"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        return kind
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return getattr(module, kind.__name__, kind)


def has_patches(kind: type) -> bool:
    """Say whether methods of a class, or functions of its file, were replaced."""
    if not kind.__module__.startswith("transformers.models."):
        return False
    space = vars(sys.modules[kind.__module__])
    values = [*vars(kind).values(), *space.values()]
    return any(_is_foreign(each) for each in values)


def _is_foreign(value: Any) -> bool:
    own = isinstance(value, types.FunctionType)
    return own and str(value.__module__).partition(".")[0] not in _KNOWN
