"""One function that a user has put at a point of training."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ftlab.probes.user.points import Point
from ftlab.records.errors import BadValueError
from ftlab.records.printable import printable

Number = float | torch.Tensor
"""A number on the host, or a 0-dim float32 tensor that nothing else holds."""


@dataclass(eq=False, slots=True)
class UserProbe:
    """A function, where it is put, and how it fares.

    Attributes
    ----------
    point
        Where.
    function
        Gets a look at a tensor (at a moment of the step: a dict of them by name).
    name
        Unique within its watch.
    priority
        At one place lower ones run first; equal ones in the order they were added in.
    order
        Number of the probe within its watch.
    enabled
        Whether it is called.
    places
        Modules or parameters that the point means; ``None`` before it is put on.
    of_parameters
        The point means parameters and not modules.
    error
        Why it was taken off, or ``""``.
    """

    point: Point
    function: Callable[[Any], Any]
    name: str
    priority: float = 0
    order: int = 0
    enabled: bool = True
    places: int | None = None
    of_parameters: bool = False
    error: str = ""


def name_of(function: Callable[[Any], Any], taken: set[str]) -> str:
    """Call a function by its own name, with a number where that is ``taken``.

    Examples
    --------
    >>> from ftlab.probes.user.user_probe import name_of
    >>> name_of(max, set()), name_of(max, {"max"}), name_of(lambda x: x, set())
    ('max', 'max_2', 'lambda')
    """
    plain = getattr(function, "__name__", None) or type(function).__name__
    plain = printable(plain.strip("<>")).replace(" ", "_")
    name, count = plain, 1
    while name in taken:
        count += 1
        name = f"{plain}_{count}"
    return name


def numbers_of(result: Any) -> dict[str, Number]:
    """Turn what a function returned into numbers by key; one number has key ``""``.

    Raises
    ------
    BadValueError
        It is nothing that a probe may return.

    Examples
    --------
    >>> from ftlab.probes.user.user_probe import numbers_of
    >>> numbers_of(2), numbers_of({"low": 1.5}), numbers_of(None)
    ({'': 2.0}, {'low': 1.5}, {})
    """
    if result is None:
        return {}
    if isinstance(result, Mapping):
        return {printable(str(key)): _number(value) for key, value in result.items()}
    return {"": _number(result)}


def _number(value: Any) -> Number:
    if isinstance(value, int | float | np.bool_ | np.integer | np.floating):
        return float(value)
    if not isinstance(value, torch.Tensor):
        what = f"a {type(value).__name__}"
    elif value.dim() or value.is_complex():
        what = f"a tensor of shape {tuple(value.shape)} and {value.dtype}"
    else:  # a copy: what it was taken from must neither be kept nor change it
        return value.detach().to(torch.float32, copy=True)
    msg = (
        f"it returned {what}; a probe returns a number, a 0-dim tensor such as "
        "tensor.mean(), a dict of these, or None"
    )
    raise BadValueError(msg)
