"""A model without values, whose step takes the memory that the real one's would.

Floating-point tensors have shapes alone (torch's `FakeTensorMode`); whole numbers such
as token ids, masks and positions have values, for code asks for them. What cannot be
known without values is made up: indices that are chosen by floating-point numbers are
dealt evenly (as to a router's experts), a single truth value that is made of them is
taken for false, and a number that code asks for is that of zeros.
"""

import contextlib
import copy
import logging
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_any, tree_leaves, tree_map

from ftlab.replay.torch_private import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    TorchDispatchMode,
    outside_modes,
)

LARGE = 2**26
"""Bytes from which whole numbers have no values either."""


MUCH = 2**29
"""Bytes of zeros that an operation may be tried on."""


class Valueless:
    """Makes models without values, and runs them.

    Parameters
    ----------
    device
        Where their tensors are said to be.
    dtype
        Of the weights, but for those of few bits, in the place of theirs.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype | None = None) -> None:
        self.device = device
        self.dtype = dtype
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)

    def copied(self, model: torch.nn.Module) -> Any:
        """Return a copy of a model that has no values of its own."""
        memo = {id(each): self._parameter(each) for each in model.parameters()}
        with _Copying(self):
            twin = copy.deepcopy(model, memo)
        for module in twin.modules():
            vars(module).pop("forward", None)  # bound to the original
        return twin

    def tensor(self, like: torch.Tensor) -> torch.Tensor:
        """Return a tensor in the place of another, which is only looked at."""
        whole = not like.is_floating_point() and not like.is_complex()
        if whole and like.nbytes <= LARGE and not like.is_meta:
            with outside_modes():
                return like.detach().to(self.device, copy=True)
        return self._empty(like, like.dtype)

    def _empty(self, like: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        with self._mode:
            return torch.empty_strided(
                like.shape, like.stride(), dtype=dtype, device=self.device
            )

    def _parameter(self, like: torch.nn.Parameter) -> Any:
        dtype = (like.is_floating_point() and self.dtype) or like.dtype
        made = torch.nn.Parameter(self._empty(like, dtype), like.requires_grad)
        # what a weight of few bits is scaled with lies in its attributes
        with _Copying(self):
            for name, value in vars(like).items():
                if name != "module":  # the layer itself
                    setattr(made, name, copy.deepcopy(value))
        return made

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let what is computed within have no values."""
        log = logging.getLogger(FakeTensorMode.__module__)  # tells what is tried again
        before, log.disabled = log.disabled, True
        try:
            with self._mode, _Values(self._mode):
                yield
        finally:
            log.disabled = before


class _Copying(TorchFunctionMode):
    """Copies tensors as `Valueless.tensor` does."""

    def __init__(self, maker: Valueless) -> None:
        super().__init__()
        self._maker = maker

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, or copy without values."""
        if func is not torch.Tensor.__deepcopy__:
            return func(*args, **(kwargs or {}))
        tensor, memo = args
        if id(tensor) not in memo:
            memo[id(tensor)] = self._maker.tensor(tensor)
        return memo[id(tensor)]


class _Values(TorchDispatchMode):
    """Runs what only whole numbers are given to with values, and all else without."""

    def __init__(self, mode: Any) -> None:
        super().__init__()
        self._mode = mode

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` with values if it has them and makes whole numbers."""
        kwargs = kwargs or {}
        given = tree_leaves((args, kwargs))
        if any(isinstance(each, FakeTensor) for each in given):
            if func.namespace == "prim":
                return func(*args, **kwargs)
            try:
                made = func(*args, **kwargs)
            except RuntimeError:  # torch's rule for its shapes is missing or narrower
                made = self._of_zeros(func, args, kwargs)
            return tree_map(lambda each: _dealt(each, given), made)
        tensors = [each for each in given if isinstance(each, torch.Tensor)]
        if sum(each.nbytes for each in tensors) > LARGE:
            return func(*args, **kwargs)
        return self._small(func, args, kwargs, factory=not tensors)

    def _of_zeros(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation on zeros to learn the shapes of what it makes."""
        given: dict[int, torch.Tensor] = {}

        def real(each: Any) -> Any:
            if not isinstance(each, FakeTensor):
                return each
            zeros = torch.zeros(each.shape, dtype=each.dtype, device=each.device)
            given[id(zeros)] = each
            return zeros

        fakes = [e for e in tree_leaves((args, kwargs)) if isinstance(e, FakeTensor)]
        if sum(each.nbytes for each in fakes) > MUCH:
            raise
        with outside_modes():
            args, kwargs = tree_map(real, (args, kwargs))
            made = func(*args, **kwargs)

        def fake(each: Any) -> Any:
            if not isinstance(each, torch.Tensor):
                return each
            return given.get(id(each), self._mode.from_tensor(each))

        return tree_map(fake, made)

    def _small(self, func: Any, args: Any, kwargs: Any, *, factory: bool) -> Any:
        """Run with values what is small; what is made of nothing has no floats."""
        try:
            shapes = func(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException):
            shapes = None

        def stays(made: Any) -> bool:
            if not isinstance(made, torch.Tensor):
                return False
            floats = made.is_floating_point() and made.numel() > 1
            return made.nbytes > LARGE or (factory and floats)

        if tree_any(stays, shapes):
            return shapes
        with outside_modes():
            return func(*args, **kwargs)


def _dealt(made: Any, given: list[Any]) -> Any:
    """Make up what is chosen by values that are not there."""
    if not isinstance(made, FakeTensor) or made.nbytes > LARGE:
        return made
    floats = [e for e in given if isinstance(e, FakeTensor) and e.is_floating_point()]
    if made.dtype == torch.bool and made.numel() == 1:
        with outside_modes():
            return torch.zeros(made.shape, dtype=torch.bool, device=made.device)
    if made.dtype != torch.int64 or not floats or not made.dim():
        return made
    among = max(floats[0].shape[-1] if floats[0].dim() else 1, 1)
    with outside_modes():
        dealt = torch.arange(made.numel(), device=made.device) % among
        return dealt.reshape(made.shape)
