"""What layers with a fresh adapter put out in the very first forward, against the base.

Where one factor of an adapter's product is 0 the layer is the layer under it. If it is
not, the reason is looked for in what it was computed with: the frozen layer's output is
scaled by trained magnitudes, or is without its bias.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import torch

from ftlab.probes.adapter.first_outputs import FirstOutputs, distance
from ftlab.probes.adapter.low_rank_wrappers import Wrapper, weight_of, wrappers
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment
from ftlab.records.attributes import attribute_of
from ftlab.records.step import Column

linear = torch.nn.functional.linear


class StartOutputs(FirstOutputs[Wrapper]):
    """Compare layers with their base once, in the first forward of the first step."""

    table: ClassVar[str] = "starts"
    columns = (
        Column("factor", "1", "Largest element of the smaller factor; 0 when fresh."),
        Column("off_base", "1", "Distance of the output from the base's, relative."),
        Column("off_scaled", "1", "Same, the base scaled by trained magnitudes."),
        Column("off_biasless", "1", "Same, of the base without its bias."),
        Column("magnitude", "1", "Mean of trained magnitude over norm of the row."),
        Column("second_l2", "1", "Norm of the factor that is applied last."),
    )

    def _layers_of(self, model: torch.nn.Module) -> Iterable[Wrapper]:
        for each in wrappers(hookable_modules(model)):
            plain = not each.vectors and attribute_of(each.base, "bias") is None
            if not (plain and each.of_peft):
                yield each

    def _measure(
        self, layer: Wrapper, given: torch.Tensor, output: torch.Tensor
    ) -> torch.Tensor | None:
        """Compare an output with the base's, plain, scaled, and without bias."""
        weight, bias = weight_of(layer.base), attribute_of(layer.base, "bias")
        if given.shape[-1] != weight.shape[1]:
            return None
        given = given.detach().to(weight.dtype)
        product = linear(given, weight)
        base = product if bias is None else product + bias
        if base.shape != output.shape or weight.numel() == 0:
            return None
        missing = torch.full((), torch.nan, device=base.device)
        off, magnitude = missing, missing
        for scaled, ratio in _scaled(given, weight, layer.vectors.values()):
            now = distance(output, scaled if bias is None else scaled + bias)
            magnitude = torch.where(
                now < torch.nan_to_num(off, torch.inf), ratio, magnitude
            )
            off = torch.fmin(off, now)
        factor = torch.stack([p.detach().abs().amax().float() for p in layer.factors])
        without = missing if bias is None else distance(output, product)
        parts = [factor.amin().to(base.device), distance(output, base), off, without]
        second = torch.linalg.vector_norm(layer.factors[1].detach().float())
        return torch.stack([*parts, magnitude, second.to(base.device)]).float()

    def _row(self, moment: Moment, layer: Wrapper) -> int:
        path = clean_name(layer.path)
        second = layer.factors[1]
        named = layer.module.named_parameters()
        meta = {
            "role": "wrapper",
            "of_peft": layer.of_peft,
            "rank": min(second.shape),
            "elements": second.numel(),
            "second": next((f"{path}.{n}" for n, p in named if p is second), path),
            "class": type(layer.module).__name__,
            "base": f"{path}.{layer.base_path}.weight",
            "vectors": ",".join(clean_name(f"{path}.{n}") for n in layer.vectors),
        }
        return moment.name("starts", path, "module", meta)


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
