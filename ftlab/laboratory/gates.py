"""How much each of several adapters counts, heard while a batch runs.

`GateListener` is entered around a forward. A module that holds several adapters is
known by `carriers`; what it weighs them by is the softmax over as many as there are
that runs within it. X-LoRA computes the weights of all layers beforehand, and gives
each layer its own.
"""

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ftlab.executions.tokens import Grid
from ftlab.laboratory.carriers import Carrier, Choice, owner_of
from ftlab.records.adapter_gates import AdapterGates
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import HandleStack
from ftlab.records.places import place_of

_SOFTMAX = (torch.softmax, torch.Tensor.softmax, torch.nn.functional.softmax)


class GateListener(TorchFunctionMode):
    """Notes the weights of adapters in a forward.

    Parameters
    ----------
    grid
        Rows and tokens of the batch; without it nothing is heard.
    carried
        What carries adapters.

    Attributes
    ----------
    found
        What was heard, in the order of the calls.
    hearing
        Whether what runs now is the model, and not somebody trying a layer again.
    """

    def __init__(self, grid: Grid | None, carried: Sequence[Carrier]) -> None:
        super().__init__()
        self.found: dict[str, AdapterGates] = {}
        self.hearing = True
        self._grid = grid
        self._carried = carried
        self._choices = {
            id(each.choice.module): each.choice for each in carried if each.choice
        }
        self._within: list[Choice] = []

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Hear what modules do within a block."""
        handles = HandleStack()
        for choice in self._choices.values():
            begin, end = partial(self._begin, choice), self._end
            handles.add(choice.module.register_forward_pre_hook(begin))
            handles.add(choice.module.register_forward_hook(end, always_call=True))
        for each in self._carried:
            if hasattr(owner_of(each.module), "get_maybe_topk_scalings"):
                hook = partial(self._given, each)
                handles.add(each.module.register_forward_hook(hook, with_kwargs=True))
        try:
            with self:
                yield
        finally:
            handles.remove()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, and note what it returns if that are weights of adapters."""
        output = func(*args, **(kwargs or {}))
        if self._within and func in _SOFTMAX:
            choice = self._within[-1]
            self._note(choice.name, choice.kind, choice.adapters, output)
        return output

    def _begin(self, choice: Choice, _module: Any, _args: Any) -> None:
        self._within.append(choice)

    def _end(self, _module: Any, _args: Any, _output: Any) -> None:
        self._within.pop()

    def _given(
        self, each: Carrier, module: Any, _args: Any, kwargs: Any, _output: Any
    ) -> None:
        """Note X-LoRA's weights, but not in the pass that only finds them."""
        weights = kwargs.get("scalings")
        if weights is None or attribute_of(module, "disable_adapters", False):
            return
        with torch.no_grad():
            own = owner_of(module).get_maybe_topk_scalings(weights)
        self._note(each.name, "X-LoRA", tuple(module.active_adapters), own)

    def _note(
        self, name: str, kind: str, adapters: tuple[str, ...], weights: torch.Tensor
    ) -> None:
        grid, count = self._grid, len(adapters)
        if not self.hearing or grid is None or weights.shape[-1:] != (count,):
            return
        shape = (*grid.shape, count)
        values = weights.detach().cpu().double()
        if values.numel() == grid.shape[0] * count:  # one choice for a whole row
            values = values.reshape(grid.shape[0], 1, count).expand(shape)
        if values.numel() != int(np.prod(shape)):
            return
        real = np.full(shape, np.nan)
        at = grid.rows.numpy(), grid.positions.numpy()
        real[at] = values.reshape(shape).numpy()[at]
        self.found[name] = AdapterGates(name, place_of(name), kind, adapters, real)
