"""Plain values of live objects: what JSON can hold, without waiting or raising."""

import enum
from collections.abc import Callable, Mapping
from typing import Any

import torch


def jsonable(value: Any, depth: int = 6) -> Any:
    """Turn a configuration into what JSON can hold; unknown objects into text.

    Tensors become their shape and dtype: looking at the values of one might wait for a
    device.

    Examples
    --------
    >>> from ftlab.probes.plain import jsonable
    >>> jsonable({"targets": {"v_proj", "k_proj"}, "r": 8, 1: (None, 0.5)})
    {'targets': ['k_proj', 'v_proj'], 'r': 8, '1': [None, 0.5]}
    """
    if isinstance(value, enum.Enum):
        return jsonable(value.value, depth)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        return f"tensor {tuple(value.shape)} {dtype_name(value.dtype)}"
    if depth and isinstance(value, Mapping):
        return {str(key): jsonable(each, depth - 1) for key, each in value.items()}
    if depth and isinstance(value, set | frozenset):
        return sorted((jsonable(each, depth - 1) for each in value), key=str)
    if depth and isinstance(value, list | tuple):
        return [jsonable(each, depth - 1) for each in value]
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    # A plain repr would hold an address, and differ between two equal runs.
    return getattr(value, "__qualname__", type(value).__qualname__)


def dtype_name(dtype: torch.dtype) -> str:
    """Name a dtype as records do: ``"bfloat16"``."""
    return str(dtype).removeprefix("torch.")


def number(value: Any) -> float | None:
    """Return a number that the host knows; ``None`` for one on a device or for none."""
    if isinstance(value, torch.Tensor) and value.device.type != "cpu":
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def readable(**readers: Callable[[], Any]) -> dict[str, Any]:
    """Call each reader; what cannot be read is absent.

    Facts are read of objects that anybody may have written, some of which raise on any
    attribute that they do not know.
    """
    found: dict[str, Any] = {}
    for name, reader in readers.items():
        try:
            found[name] = reader()
        except Exception:  # noqa: BLE001  absent is the documented answer
            continue
    return found
