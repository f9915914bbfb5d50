"""Casts of weights that autocast keeps although the weights have changed.

autocast casts each float32 weight once and keeps the cast until its outermost context
is left. A loop within one context computes with the weights of its first step.

Who calls whom: after an update within a context a parameter of our own is cast, which
puts an entry into the same store. Where the next training forward finds it there, that
context was never left, and what the model's layers compute with is compared with their
weights. Nothing is compared otherwise, and nothing waits for the device.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.stepping.carried import spread
from ftlab.records.attributes import attribute_of
from ftlab.records.step import Block, Column

TABLE = "casts"

LOOKS = 4
"""Forwards at which weights are compared."""


class StaleCasts(Probe):
    """Compare what autocast has kept of a few weights with the weights."""

    light = False
    table: ClassVar[str] = TABLE
    columns: ClassVar[Sequence[Column]] = (
        Column(
            "stale", "1", "Whether autocast computes with an earlier value of a weight."
        ),
    )

    def __init__(self) -> None:
        self._own: torch.nn.Parameter | None = None
        self._node: Any = None
        self._looks = 0

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Leave a mark in the store of the context that the update is within."""
        device = _device(moment)
        if self._node is None and self._looks < LOOKS and device and _is_within():
            self._own = torch.nn.Parameter(torch.zeros(1, 1, device=device))
            self._node = _cast_of(self._own)
        return ()

    def on_batch(self, moment: Moment, inputs: dict[str, Any]) -> Iterator[Reading]:
        """See whether the mark is still there, before the model runs."""
        own, node, self._own, self._node = self._own, self._node, None, None
        if own is None or node is None or not _is_within():
            return
        if _cast_of(own) is node and (layers := _layers(moment)):
            self._looks += 1
            yield _compare(moment, layers)


def _is_within() -> bool:
    """Tell whether a context of autocast is open whose casts are kept."""
    depth = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return depth > 0 and torch.is_autocast_cache_enabled()


def _device(moment: Moment) -> str:
    """Return the device of the weights, where autocast is for it."""
    device = next((p.device.type for p in moment.tensors.parameters), "meta")
    known = device != "meta" and torch.amp.is_autocast_available(device)
    return device if known else ""


def _cast_of(own: torch.nn.Parameter) -> Any:
    """Return the node of a cast: the same one as long as the cast is kept."""
    device = own.device.type
    dtype = torch.get_autocast_dtype(device)
    with torch.enable_grad(), torch.autocast(device, dtype=dtype):
        product = torch.mm(own, own.detach())
    return product.grad_fn.next_functions[0][0] if product.grad_fn else None


def _layers(moment: Moment) -> dict[str, torch.Tensor]:
    """Choose a few trained float32 weights of linear layers: autocast casts those."""
    model, tensors = moment.subject.model, moment.tensors
    of_layers = {
        id(attribute_of(module, "weight"))
        for module in model.modules()
        if isinstance(module, torch.nn.Linear)
    }
    names = {
        id(weight): name
        for name, weight in zip(tensors.names, tensors.parameters, strict=True)
        if type(weight.data) is torch.Tensor and weight.dtype is torch.float32
    }
    weights = [w for w in tensors.parameters if id(w) in of_layers & names.keys()]
    return {names[id(weight)]: weight for weight in spread(weights)}


def _compare(moment: Moment, layers: dict[str, torch.Tensor]) -> Reading:
    """Let each weight multiply ones: as autocast has it, and as it is now."""
    weights = list(layers.values())
    device = weights[0].device.type
    dtype = torch.get_autocast_dtype(device)
    found = []
    with torch.enable_grad(), torch.autocast(device, dtype=dtype):
        for weight in weights:
            ones = torch.ones(1, weight.shape[1], dtype=dtype, device=weight.device)
            kept = torch.nn.functional.linear(ones, weight).detach()
            now = torch.nn.functional.linear(ones, weight.detach().to(dtype))
            found.append((kept != now).any())
    rows = [moment.name(TABLE, name, "param", {}) for name in layers]
    ids, step = np.array(rows, np.int32), moment.step

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        yield Block(TABLE, step, ids, {"stale": flat})

    return Reading(torch.stack(found).float(), finish)
