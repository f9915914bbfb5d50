"""Turns live tensors into the plain values of a report."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ftlab.replay.stops.report import TensorFacts
from ftlab.replay.torch_private import schema
from ftlab.replay.tracing.finite import measurable, non_finite, tensor_leaves
from ftlab.replay.tracing.runner import OpStop


def facts_of(name: str, tensor: torch.Tensor) -> TensorFacts:
    """Measure one tensor."""
    dtype, shape = str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)
    values = measurable(tensor)
    if values is None:
        return _facts_of_others(name, tensor, dtype, shape)
    finite = values[values.isfinite()].float()
    empty = finite.numel() == 0
    return TensorFacts(
        name=name,
        dtype=dtype,
        shape=shape,
        low=None if empty else float(finite.min()),
        high=None if empty else float(finite.max()),
        nans=int(values.isnan().sum()),
        infs=int(values.isinf().sum()),
    )


def _facts_of_others(
    name: str, tensor: torch.Tensor, dtype: str, shape: tuple[int, ...]
) -> TensorFacts:
    counts = tensor.dtype in (torch.int64, torch.int32, torch.int16, torch.uint8)
    if not counts or tensor.numel() == 0 or tensor.is_meta:
        return TensorFacts(name, dtype, shape, None, None)
    return TensorFacts(name, dtype, shape, int(tensor.min()), int(tensor.max()))


def input_facts(stop: OpStop) -> tuple[TensorFacts, ...]:
    """Measure the tensors that an operation read, under their schema's names."""
    names = [argument.name for argument in schema(stop.func).arguments]
    named: Iterable[tuple[str, Any]] = (
        *zip(names, stop.args, strict=False),
        *stop.kwargs.items(),
    )
    return tuple(
        facts_of(name, tensor)
        for argument, value in named
        for name, tensor in _shown(argument, value, stop)
    )


def output_facts(stop: OpStop) -> tuple[TensorFacts, ...]:
    """Measure the tensors that an operation gave."""
    return tuple(facts_of(n, t) for n, t in _shown("", stop.outputs, stop))


def _shown(name: str, value: Any, stop: OpStop) -> Iterator[tuple[str, torch.Tensor]]:
    """Of lists that an op goes through together, show the first that went bad."""
    together = isinstance(stop.outputs, list) and isinstance(value, list)
    if together and len(value) == len(stop.outputs) > 1:
        bad = (i for i, t in enumerate(stop.outputs) if non_finite(t) is not None)
        index = next(bad, 0)
        name, value = f"{name}[{index}]", value[index]
    for tensor in tensor_leaves(value):
        yield name, tensor
