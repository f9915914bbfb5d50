"""Two checkpoints or adapters side by side: plain values."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ComparedModule:
    """One module's weight, or what an adapter adds to it, on both sides.

    Attributes
    ----------
    name, place
        Path, and where that is in every architecture.
    kind
        ``"update"`` for scaling x B A of LoRA, which is never put together, or the name
        of a tensor such as ``"weight"``.
    norms
        Frobenius norms.
    distance
        Norm of the difference.
    cosine
        Cosine of the angle between both, NaN where one is 0.
    overlap
        Of LoRA: the share of the smaller side's output directions that the other side
        has too, 1 where one space holds the other; NaN for tensors.
    ranks
        Of LoRA: r of both sides; 0 for tensors.
    """

    name: str
    place: str
    kind: str
    norms: tuple[float, float]
    distance: float
    cosine: float
    overlap: float = float("nan")
    ranks: tuple[int, int] = (0, 0)

    @property
    def relative(self) -> float:
        """The distance over the larger norm; 0 for what is equal."""
        larger = max(self.norms)
        return self.distance / larger if larger else 0.0


@dataclass(frozen=True, slots=True)
class AdapterComparison:
    """Two sides, compared.

    Attributes
    ----------
    sides
        What they are called.
    sizes
        Bytes of all tensors.
    modules
        What both have.
    alone
        Names of tensors that one side alone has, for each side.
    reshaped
        Name, and shape or dtype on both sides, of what cannot be compared.
    settings
        File, key and values on both sides of configurations that differ.
    """

    sides: tuple[str, str]
    sizes: tuple[int, int]
    modules: tuple[ComparedModule, ...]
    alone: tuple[tuple[str, ...], tuple[str, ...]]
    reshaped: tuple[tuple[str, str, str], ...]
    settings: tuple[tuple[str, str, Any, Any], ...]
