"""What layers with a fresh adapter put out in the very first forward, against the base.

Where one factor of an adapter's product is 0 the layer is the layer under it. If it is
not, the reason is looked for in what it was computed with: the frozen layer's output is
scaled by trained magnitudes, or is without its bias.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.low_rank_wrappers import Wrapper, weight_of, wrappers
from ftlab.probes.graph.module_hook import WholeCallHook
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import Handle, HandleStack
from ftlab.records.step import Block, Column

linear = torch.nn.functional.linear


class StartOutputs(Probe):
    """Compare layers with their base once, in the first forward of the first step."""

    name: ClassVar[str] = "start_outputs"
    table: ClassVar[str] = "starts"
    columns = (
        Column("factor", "1", "Largest element of the smaller factor; 0 when fresh."),
        Column("off_base", "1", "Distance of the output from the base's, relative."),
        Column("off_scaled", "1", "Same, the base scaled by trained magnitudes."),
        Column("off_biasless", "1", "Same, of the base without its bias."),
        Column("magnitude", "1", "Mean of trained magnitude over norm of the row."),
        Column("second_l2", "1", "Norm of the factor that is applied last."),
    )

    def __init__(self) -> None:
        self._hooks = HandleStack()
        self._waiting = True
        self._wrappers: dict[str, Wrapper] = {}
        self._values: dict[str, torch.Tensor] = {}

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the hooks off at the end."""
        return [self._hooks]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Put hooks on the layers before the first forward."""
        if not self._waiting:
            return ()
        self._waiting = False
        if moment.step == 0:
            modules = hookable_modules(moment.subject.model)
            for each in wrappers(modules):
                plain = not each.vectors and attribute_of(each.base, "bias") is None
                if plain and each.of_peft:
                    continue
                self._wrappers[each.path] = each
                hook = WholeCallHook(self.see, each.module, each.path)
                self._hooks.add(each.module.register_forward_hook(hook, prepend=True))
        return ()

    def see(self, path: str, seen: tuple[Any, Any]) -> None:
        """Measure one layer, the first time that it is called."""
        inputs, output = seen
        if path in self._values or not inputs:
            return
        given, wrapper = inputs[0], self._wrappers[path]
        if isinstance(given, torch.Tensor) and isinstance(output, torch.Tensor):
            with torch.no_grad():
                measured = _measure(wrapper, given, output)
            if measured is not None:
                self._values[path] = measured

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Take the hooks off and hand over what was measured."""
        values, self._values = self._values, {}
        known, self._wrappers = self._wrappers, {}
        self._hooks.remove()
        self.rests = not self._waiting
        if not values:
            return ()
        rows = {_row(moment, known[path]): value for path, value in values.items()}
        ids = np.array(sorted(rows), np.int32)
        device = next(iter(values.values())).device
        stack = [rows[row].to(device) for row in ids.tolist()]

        def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
            names = [column.name for column in self.columns]
            table = flat.reshape(len(ids), -1).T
            yield Block(
                self.table, moment.step, ids, dict(zip(names, table, strict=True))
            )

        return (Reading(torch.cat(stack), finish),)


def _measure(
    wrapper: Wrapper, given: torch.Tensor, output: torch.Tensor
) -> torch.Tensor | None:
    """Compare an output with what the base gives, plain, scaled, and without bias."""
    weight, bias = weight_of(wrapper.base), attribute_of(wrapper.base, "bias")
    if given.shape[-1] != weight.shape[1] or given.is_meta:
        return None
    given = given.detach().to(weight.dtype)
    product = linear(given, weight)
    base = product if bias is None else product + bias
    if base.shape != output.shape or weight.numel() == 0:
        return None
    missing = torch.full((), torch.nan, device=base.device)
    off, magnitude = missing, missing
    for scaled, ratio in _scaled(given, weight, wrapper.vectors.values()):
        now = _distance(output, scaled if bias is None else scaled + bias)
        magnitude = torch.where(
            now < torch.nan_to_num(off, torch.inf), ratio, magnitude
        )
        off = torch.fmin(off, now)
    factor = torch.stack([p.detach().abs().amax().float() for p in wrapper.factors])
    without = missing if bias is None else _distance(output, product)
    parts = [factor.amin().to(base.device), _distance(output, base), off, without]
    second = torch.linalg.vector_norm(wrapper.factors[1].detach().float())
    return torch.stack([*parts, magnitude, second.to(base.device)]).float()


def _scaled(
    given: torch.Tensor, weight: torch.Tensor, vectors: Iterable[torch.Tensor]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Give products with rows, or columns, of the lengths that a vector holds."""
    tiny = torch.finfo(torch.float32).tiny
    for held in vectors:
        vector = held.detach().flatten().to(weight.device)
        for axis in (1, 0):
            norms = torch.linalg.vector_norm(weight.float(), dim=axis).clamp_min(tiny)
            if vector.shape != norms.shape:
                continue
            ratio = vector.float() / norms
            scale = ratio.to(weight.dtype)
            rows = axis == 1
            made = (
                linear(given, weight) * scale if rows else linear(given * scale, weight)
            )
            yield made, ratio.mean()


def _distance(output: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    size = torch.linalg.vector_norm(base.float())
    return torch.linalg.vector_norm(output.detach().float() - base.float()) / size


def _row(moment: Moment, wrapper: Wrapper) -> int:
    path = clean_name(wrapper.path)
    second = wrapper.factors[1]
    named = wrapper.module.named_parameters()
    meta = {
        "role": "wrapper",
        "of_peft": wrapper.of_peft,
        "rank": min(second.shape),
        "elements": second.numel(),
        "second": next((f"{path}.{n}" for n, p in named if p is second), path),
        "class": type(wrapper.module).__name__,
        "base": f"{path}.{wrapper.base_path}.weight",
        "vectors": ",".join(clean_name(f"{path}.{n}") for n in wrapper.vectors),
    }
    return moment.name("starts", path, "module", meta)
