"""What takes long to make is made once; every test has a copy of its own."""

import copy
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def copied(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """Let a function make each thing once, and return copies.

    A call of a fast tokenizer leaves its truncation and padding behind, which a file
    that is written later holds.
    """
    made = cache(make)

    @wraps(make)
    def copy_of(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        return copy.deepcopy(made(*args, **kwargs))

    return copy_of
