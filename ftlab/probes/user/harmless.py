"""Runs a user's function within training so that it cannot change it by accident.

No gradient graph, no random number taken from the run, no cast of a weight kept in
autocast's cache (made without a graph, it would cut the weight off from its gradient),
and an operation that writes to what is looked at, or to a parameter, is refused before
it runs.
"""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ftlab.probes.torch_private import versions


class WriteError(Exception):
    """A user's function wrote, or was about to write, to what it looks at."""


def harmlessly(
    function: Callable[[Any], Any], what: Any, looked_at: Sequence[torch.Tensor]
) -> Any:
    """Call ``function(what)``; ``looked_at`` are the tensors in ``what``.

    Raises
    ------
    WriteError
        The function tried to write to one of them, or to a parameter.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.user.harmless import harmlessly
    >>> weight = torch.ones(2)
    >>> float(harmlessly(torch.sum, weight, [weight]))
    2.0
    >>> harmlessly(lambda tensor: tensor.mul_(2), weight, [weight])
    Traceback (most recent call last):
    ...
    ftlab.probes.user.harmless.WriteError: aten.mul_ would write to the tensor ...
    >>> weight
    tensor([1., 1.])
    """
    before = versions(looked_at)
    guard = _ReadOnly(looked_at)
    with torch.no_grad(), _no_cast_cache(), _random_numbers_kept(), guard:
        result = function(what)
    if versions(looked_at) != before:
        msg = "it changed the tensor that it was given; what was trained on is changed"
        raise WriteError(msg)
    return result


class _ReadOnly(TorchDispatchMode):
    """Refuses operations that write to some tensors, before they run."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._places = {_place(each) for each in tensors} - {0}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        schema = func._schema  # noqa: SLF001  as torch's own dispatch modes do
        if schema.is_mutable:
            for index, argument in enumerate(schema.arguments):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    given = (
                        args[index] if index < len(args) else kwargs.get(argument.name)
                    )
                    self._check(given, str(func).rpartition(".")[0])
        return func(*args, **kwargs)

    def _check(self, given: Any, name: str) -> None:
        for tensor in given if isinstance(given, list | tuple) else [given]:
            if isinstance(tensor, torch.nn.Parameter):
                msg = f"{name} would write to a parameter"
                raise WriteError(msg)
            if isinstance(tensor, torch.Tensor) and _place(tensor) in self._places:
                msg = f"{name} would write to the tensor that the probe was given"
                raise WriteError(msg)


def _place(tensor: torch.Tensor) -> int:
    """Tell where the values are; 0 where that cannot be told."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # sparse, meta, a subclass of its own
        return 0


@contextlib.contextmanager
def _no_cast_cache() -> Iterator[None]:
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


@contextlib.contextmanager
def _random_numbers_kept() -> Iterator[None]:
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  the global one
    cpu, devices = torch.get_rng_state(), _device_states()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002  the global one
        torch.set_rng_state(cpu)
        for generator, state in devices:
            generator.set_state(state)


def _device_states() -> list[tuple[torch.Generator, torch.Tensor]]:
    if not torch.cuda.is_initialized():
        return []
    return [(each, each.get_state()) for each in torch.cuda.default_generators]
