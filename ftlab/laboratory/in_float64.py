"""Functions and modules as copies that compute in float64."""

import copy
import types
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FEWER = (torch.bfloat16, torch.float16, torch.float32)


def in_float64(function: Any) -> Any:
    """Return a copy with modules and tensors in float64, or what cannot be copied.

    Those that a function closes over, or names as globals, are copied with it.

    Examples
    --------
    >>> import torch
    >>> from ftlab.laboratory.in_float64 import in_float64
    >>> linear = torch.nn.Linear(2, 2)
    >>> in_float64(lambda x: linear(x))(torch.ones(2).double()).dtype
    torch.float64
    >>> linear.weight.dtype
    torch.float32
    """
    return _copied(function, {})


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value, memo).double()
    if isinstance(value, torch.Tensor) and value.dtype in FEWER:
        return memo.setdefault(id(value), value.detach().double())
    if isinstance(value, types.MethodType):
        owner = _copied(value.__self__, memo)
        return types.MethodType(value.__func__, owner)
    if isinstance(value, types.FunctionType):
        return _with_copies(value, memo)
    return value


def _with_copies(function: types.FunctionType, memo: dict[int, Any]) -> Any:
    """Return a function with other cells and globals, where one needs it."""
    cells = tuple(_cell(each, memo) for each in function.__closure__ or ())
    named = {n: function.__globals__.get(n) for n in function.__code__.co_names}
    space = {n: _copied(e, memo) for n, e in named.items() if _is_of_torch(e)}
    if not space and cells == (function.__closure__ or ()):
        return function
    made = types.FunctionType(
        function.__code__,
        {**function.__globals__, **space},
        function.__name__,
        function.__defaults__,
        cells or None,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _cell(cell: types.CellType, memo: dict[int, Any]) -> types.CellType:
    try:
        value = cell.cell_contents
    except ValueError:  # it is empty
        return cell
    return types.CellType(_copied(value, memo)) if _is_of_torch(value) else cell


def _is_of_torch(value: Any) -> bool:
    return isinstance(value, torch.nn.Module | torch.Tensor)


class Casts(TorchDispatchMode):
    """Notes dtypes of fewer bits that float64 is cast to, or makes float64 of all."""

    def __init__(self, *, lift: bool = False) -> None:
        super().__init__()
        self.to: set[torch.dtype] = set()
        self._lift = lift

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, a cast in float64 where it is to be lifted."""
        named = dict(kwargs or {})
        if func is torch.ops.aten._to_copy.default:  # noqa: SLF001  no public name
            wanted = named.get("dtype")
            if wanted in FEWER and args[0].dtype == torch.float64:
                self.to.add(wanted)
            if wanted in FEWER and self._lift:
                named["dtype"] = torch.float64
        return func(*args, **named)
