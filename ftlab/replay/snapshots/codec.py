"""Values as JSON, with their tensors beside them: nothing in it can be executed.

`Packer` turns nested containers into what JSON can hold and collects the tensors by
name; `Unpacker` makes the same containers and dtypes of that again. Only the kinds that
are listed here exist: a file cannot name a class of its own.
"""

import collections
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from ftlab.records.errors import BadValueError

Json = Any

_KINDS = ("dict", "OrderedDict", "UserDict", "BatchEncoding", "BatchFeature")
MODEL = "model"
"""Stands for the model among the arguments of a step."""


class Packer:
    """Collects the tensors of one file.

    Parameters
    ----------
    model
        Is named, not written, where it is met.
    value_of
        Returns the values that a tensor had when the step began.

    Attributes
    ----------
    tensors
        What has been collected, each once.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.snapshots.codec import Packer, Unpacker
    >>> packer = Packer()
    >>> packed = packer.pack({"x": torch.ones(2), "scale": float("inf")}, "batch")
    >>> packed["of"]["x"], packed["of"]["scale"]
    ({'is': 'tensor', 'name': 'batch.x'}, {'is': 'float', 'of': 'inf'})
    >>> Unpacker(packer.tensors).unpack(packed)
    {'x': tensor([1., 1.]), 'scale': inf}
    """

    def __init__(
        self,
        model: Any = None,
        value_of: Callable[[torch.Tensor], torch.Tensor] = torch.Tensor.detach,
    ) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._model = model
        self._value_of = value_of
        self._names: dict[int, Json] = {}
        self._kept: list[torch.Tensor] = []

    def pack(self, value: Any, place: str) -> Json:
        """Return ``value`` as JSON; ``place`` names its tensors and its errors.

        Raises
        ------
        BadValueError
            When it holds something that is no tensor, number, text or container.
        """
        if isinstance(value, torch.Tensor):
            return self._tensor(value, place)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int | None):
            return value
        if isinstance(value, float | np.generic):
            return self._number(value)
        if value is self._model and value is not None:
            return {"is": MODEL}
        return self._container(value, place)

    def _number(self, value: Any) -> Json:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and not math.isfinite(plain):
            return {"is": "float", "of": repr(plain)}
        return plain

    def _container(self, value: Any, place: str) -> Json:
        kind = type(value).__name__
        if isinstance(value, dict | collections.UserDict) and kind in _KINDS:
            return {"is": kind, **self._items(value, place)}
        if type(value) is list:
            return [self.pack(each, f"{place}.{i}") for i, each in enumerate(value)]
        if type(value) in (tuple, torch.Size):
            of = [self.pack(each, f"{place}.{i}") for i, each in enumerate(value)]
            return {"is": "tuple", "of": of}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            tensor = torch.from_numpy(np.ascontiguousarray(value).copy())
            return {"is": "numpy", "of": self._tensor(tensor, place)}
        if isinstance(value, torch.dtype):
            return {"is": "dtype", "of": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"is": "device", "of": str(value)}
        msg = (
            f"{place} is a {kind}, which a snapshot cannot store: only tensors, NumPy "
            "arrays, numbers, strings, and dictionaries, lists and tuples of them. "
            "Pass the step such values, and look up the rest inside it."
        )
        raise BadValueError(msg)

    def _items(self, value: Any, place: str) -> Json:
        if all(type(key) is str for key in value):
            return {"of": {k: self.pack(v, f"{place}.{k}") for k, v in value.items()}}
        pairs = [
            [self.pack(k, f"{place} key"), self.pack(v, f"{place}.{k}")]
            for k, v in value.items()
        ]
        return {"pairs": pairs}

    def _tensor(self, tensor: torch.Tensor, place: str) -> Json:
        if id(tensor) not in self._names:
            self._kept.append(tensor)  # its id stays its own
            self._names[id(tensor)] = self._new(tensor, place)
        return self._names[id(tensor)]

    def _new(self, tensor: torch.Tensor, place: str) -> Json:
        if tensor.layout != torch.strided or tensor.is_quantized:
            msg = (
                f"{place} is a {tensor.layout} tensor; snapshots store only dense ones."
            )
            raise BadValueError(msg)
        values = self._value_of(tensor).detach()
        note: dict[str, Json] = {"is": "tensor", "name": self._free(place)}
        if tensor.device.type != "cpu":
            note["device"] = tensor.device.type
        if tensor.requires_grad and not isinstance(tensor, torch.nn.Parameter):
            note["requires_grad"] = True
        if not values.is_contiguous() and _dense(values):
            note["stride"] = list(values.stride())
        if values.is_complex():
            note["complex"], values = True, torch.view_as_real(values.resolve_conj())
        self.tensors[note["name"]] = values
        return note

    def _free(self, place: str) -> str:
        name, number = place, 2
        while name in self.tensors:
            name, number = f"{place}~{number}", number + 1
        return name


class Unpacker:
    """Makes values of JSON and tensors; ValueError and KeyError tell of damage.

    Parameters
    ----------
    tensors
        Those of the file, by name.
    model
        What the name of the model stands for; tensors go to its device.
    """

    def __init__(
        self,
        tensors: Mapping[str, torch.Tensor],
        model: torch.nn.Module | None = None,
    ) -> None:
        self._tensors = tensors
        self._model = model
        self._made: dict[str, torch.Tensor] = {}
        self._device = _device_of(model)

    def unpack(self, packed: Json) -> Any:
        """Return the value."""
        if isinstance(packed, list):
            return [self.unpack(each) for each in packed]
        if not isinstance(packed, dict):
            return packed
        kind = packed["is"]
        if kind in _KINDS:
            return _mapping(kind, self._pairs(packed))
        of: Any = packed.get("of")
        match kind:
            case "tensor":
                return self._tensor(packed)
            case "tuple":
                return tuple(self.unpack(each) for each in of)
            case "numpy":
                return self.unpack(of).cpu().numpy()
            case "model":
                return self._model
        return _simple(kind, of)

    def _pairs(self, packed: Json) -> dict[Any, Any]:
        if "pairs" in packed:
            return {self.unpack(k): self.unpack(v) for k, v in packed["pairs"]}
        return {key: self.unpack(value) for key, value in packed["of"].items()}

    def _tensor(self, packed: Json) -> torch.Tensor:
        name = packed["name"]
        if name not in self._made:
            self._made[name] = self._new(self._tensors[name], packed)
        return self._made[name]

    def _new(self, stored: torch.Tensor, packed: Json) -> torch.Tensor:
        values = torch.view_as_complex(stored) if packed.get("complex") else stored
        stride = packed.get("stride")
        if stride is not None:
            if sorted(stride) != sorted(_strides_like(values, stride)):
                msg = f"{packed['name']} cannot have the strides {stride}"
                raise ValueError(msg)
            laid = torch.empty_strided(values.shape, stride, dtype=values.dtype)
            values = laid.copy_(values)
        else:
            values = values.clone()
        if "device" in packed:
            values = values.to(self._device)
        return values.requires_grad_() if packed.get("requires_grad") else values


def _simple(kind: Any, of: Any) -> Any:
    if kind == "float" and of in ("nan", "inf", "-inf"):
        return float(of)
    if kind == "dtype" and isinstance(getattr(torch, str(of), None), torch.dtype):
        return getattr(torch, of)
    if kind == "device":
        return torch.device(of)
    msg = f"{kind!r} is not a kind of value that snapshots have"
    raise ValueError(msg)


def _mapping(kind: str, items: dict[Any, Any]) -> Any:
    if kind == "dict":
        return items
    if kind in ("OrderedDict", "UserDict"):
        return getattr(collections, kind)(items)
    import transformers

    return getattr(transformers, kind)(items)


def _dense(tensor: torch.Tensor) -> bool:
    """Say whether the elements lie side by side, in whatever order."""
    return sorted(tensor.stride()) == sorted(_strides_like(tensor, tensor.stride()))


def _strides_like(tensor: torch.Tensor, stride: Any) -> list[int]:
    """Return the strides of a dense tensor whose dimensions are in the same order."""
    if len(stride) != tensor.dim():
        return []
    found, size = [0] * tensor.dim(), 1
    for index in sorted(
        range(tensor.dim()), key=lambda i: (stride[i], tensor.shape[i])
    ):
        found[index] = size
        size *= tensor.shape[index]
    return found


def _device_of(model: torch.nn.Module | None) -> torch.device:
    first = None if model is None else next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device
