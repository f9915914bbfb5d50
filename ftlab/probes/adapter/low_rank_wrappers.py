"""Layers around one frozen linear layer, with a product of low rank that begins at 0.

PEFT's LoRA layers are such, and those that people write by themselves: they are told by
the shapes of their parameters, whatever they are called.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from ftlab.probes.adapter_config.unadapted import is_linear
from ftlab.records.attributes import has_attribute

_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A layer with an adapter of its own around a frozen linear layer.

    Attributes
    ----------
    path
        Of the layer, as the model names it.
    base
        The linear layer inside.
    base_path
        Its path within the layer.
    factors
        A (rank, inputs) and B (outputs, rank), or both transposed.
    vectors
        Trained vectors as long as the inputs or the outputs, by name.
    """

    path: str
    module: torch.nn.Module
    base: torch.nn.Module
    base_path: str
    factors: tuple[torch.nn.Parameter, torch.nn.Parameter]
    vectors: dict[str, torch.nn.Parameter]

    @property
    def of_peft(self) -> bool:
        """Whether PEFT made it."""
        return has_attribute(self.module, "adapter_layer_names")


def wrappers(modules: Iterable[tuple[str, torch.nn.Module]]) -> Iterator[Wrapper]:
    """Yield the layers with one trained product of low rank, the inner ones first."""
    taken: set[int] = set()
    for path, module in reversed(list(modules)):
        found = _wrapper(path, module)
        if found is not None and id(found.base) not in taken:
            taken.add(id(found.base))
            yield found


def weight_of(base: torch.nn.Module) -> torch.Tensor:
    """Return the weight of a linear layer as (outputs, inputs)."""
    weight: torch.Tensor = base.get_parameter("weight").detach()
    return weight.T if type(base).__name__ == "Conv1D" else weight


def _wrapper(path: str, module: torch.nn.Module) -> Wrapper | None:
    children = list(module.named_children())
    frozen = [(name, child) for name, child in children if _is_frozen_linear(child)]
    if len(frozen) != 1 or next(frozen[0][1].children(), None) is not None:
        return None
    base_path, base = frozen[0]
    inside = {id(parameter) for parameter in base.parameters()}
    own = {n: p for n, p in module.named_parameters() if id(p) not in inside}
    trained = {n: p for n, p in own.items() if p.requires_grad and not p.is_meta}
    outputs, inputs = weight_of(base).shape
    matrices = [p for p in trained.values() if p.ndim == 2 and min(p.shape) > 1]
    vectors = {
        n: p
        for n, p in trained.items()
        if p.numel() in (outputs, inputs) and p.numel() == max(p.shape)
    }
    if len(matrices) != 2 or any(_is_frozen_matrix(p) for p in own.values()):
        return None
    factors = _factors(matrices, outputs, inputs)
    if factors is None:
        return None
    return Wrapper(path, module, base, base_path, factors, vectors)


def _factors(
    matrices: list[torch.nn.Parameter], outputs: int, inputs: int
) -> tuple[torch.nn.Parameter, torch.nn.Parameter] | None:
    """Sort two matrices into A and B, where their product has the weight's shape."""
    for a, b in (matrices, matrices[::-1]):
        plain = a.shape[1] == inputs and b.shape == (outputs, a.shape[0])
        turned = a.shape[0] == inputs and b.shape == (a.shape[1], outputs)
        if plain or turned:
            return a, b
    return None


def _is_frozen_linear(module: torch.nn.Module) -> bool:
    # A parametrised weight is computed at each look, and no parameter.
    weight = dict(module.named_parameters(recurse=False)).get("weight")
    if weight is None or not is_linear(module):
        return False
    plain = type(weight.data) is torch.Tensor and weight.dtype in _FLOATS
    return plain and not weight.requires_grad and not weight.is_meta


def _is_frozen_matrix(parameter: torch.nn.Parameter) -> bool:
    """Tell the factor of another adapter, which may be at work as well."""
    return parameter.ndim > 1 and not parameter.requires_grad and parameter.numel() > 0
