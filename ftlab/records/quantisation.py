"""What quantisation has made of a model's weights: plain values."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QuantisedLayer:
    """One layer whose weight is kept in few bits.

    Attributes
    ----------
    name, place
        Path, and where that is in every architecture.
    kind
        ``"nf4"``, ``"fp4"`` or ``"int8"``.
    block
        Weights that share a scale.
    nested
        Whether the scales are quantised too.
    storage, compute
        Dtype in which the bits lie, and in which the layer computes; ``""`` where it
        takes that of its input.
    weights, bytes_there, bytes_predicted
        Number of weights; bytes that they and their scales take, measured on the
        tensors, and computed from shape, block and nesting alone.
    code
        Values of the code book, of a scale of 1; empty for 8 bits.
    used
        Share of the weights at each of them.
    spread
        Largest scale of a block over the median one.
    outliers
        Share of blocks whose scale is above three times the median.
    error, relative
        Frobenius norm of original minus dequantised, and that over the original's; NaN
        without the original.
    worst
        Largest relative error of one block.
    compensated
        How much of the error's square the adapter takes away, 1 for all of it; below 0
        where it adds to it; NaN without the original or an adapter.
    """

    name: str
    place: str
    kind: str
    block: int
    nested: bool
    storage: str
    compute: str
    weights: int
    bytes_there: int
    bytes_predicted: float
    code: Floats = field(default_factory=lambda: np.zeros(0))
    used: Floats = field(default_factory=lambda: np.zeros(0))
    spread: float = float("nan")
    outliers: float = float("nan")
    error: float = float("nan")
    relative: float = float("nan")
    worst: float = float("nan")
    compensated: float = float("nan")


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """What takes memory, and how much: as computed, and as the tensors hold.

    Attributes
    ----------
    what
        ``"nf4 weights"``, ``"scales"``, ``"adapters"``, ``"gradients"`` ...
    count
        Numbers that it holds.
    predicted, measured
        Bytes: from shapes, formats and blocks alone, and of the storages, each once;
        NaN where there was none to measure.
    """

    what: str
    count: int
    predicted: float
    measured: float


@dataclass(frozen=True, slots=True)
class Preparation:
    """Whether a model in few bits is fit to be trained, as one backward shows.

    Attributes
    ----------
    norms, heads
        Dtypes of the norms' weights, and of the output's.
    left
        Places of matrices of the base that are not in few bits.
    stray
        Names of the base's parameters that have a gradient, or that are to be trained
        where none was measured.
    checkpointing
        Whether gradient checkpointing is on.
    memory
        What takes memory.
    given, computes
        Dtype of what a layer was given, and in which it computed, by its name.
    gradients
        Norm of the gradient of each layer's adapters by its name, from first to last;
        empty if none was measured.
    note
        Why something was not measured.
    """

    norms: tuple[str, ...]
    heads: tuple[str, ...]
    left: tuple[str, ...]
    stray: tuple[str, ...]
    checkpointing: bool
    memory: tuple[MemoryPart, ...]
    given: dict[str, str]
    computes: dict[str, str]
    gradients: dict[str, float]
    note: str = ""

    @property
    def faults(self) -> tuple[str, ...]:
        """What speaks against training it so, in words; empty if it is prepared."""
        found = [
            f"{what} in {' and '.join(kinds)}"
            for what, kinds in (("norms", self.norms), ("head", self.heads))
            if set(kinds) - {"float32"}
        ]
        if self.stray:
            count = len(self.stray)
            found.append(f"{count} of the base's own trained, {self.stray[0]} first")
        reached = sum(norm > 0 for norm in self.gradients.values())
        if reached < len(self.gradients):
            on = "on" if self.checkpointing else "off"
            found.append(
                f"the gradient reaches {reached} of {len(self.gradients)} adapted "
                f"layers, checkpointing {on}"
            )
        return tuple(found)
