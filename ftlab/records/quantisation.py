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
