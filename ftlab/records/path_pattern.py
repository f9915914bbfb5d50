"""Which modules and parameters a pattern of paths means."""

import fnmatch


def is_module(path: str, pattern: str) -> bool:
    """Say whether a module's path, or its end, matches a pattern.

    Examples
    --------
    >>> from ftlab.records.path_pattern import is_module
    >>> is_module("base_model.model.layers.1.mlp", "layers.*.mlp")
    True
    >>> is_module("base_model.model.layers.11.mlp", "1.mlp")
    False
    """
    return any(fnmatch.fnmatchcase(path, p) for p in (pattern, f"*.{pattern}"))
