"""How much each of several adapters counts, token by token: plain values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AdapterGates:
    """The weights of several adapters in one layer, on a batch.

    Attributes
    ----------
    name
        Clean path of the layer.
    place
        Where that is in every architecture.
    kind
        What weighs them: ``"AdapterFusion"``, ``"X-LoRA"`` or ``"softmax"``, the name
        of the function that was seen at work.
    adapters
        Their names.
    weights
        Shape (rows, tokens, adapters); NaN where there is padding.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.adapter_gates import AdapterGates
    >>> weights = np.array([[[0.75, 0.25], [np.nan, np.nan]]])
    >>> gates = AdapterGates("h.0", "layers.0", "X-LoRA", ("math", "code"), weights)
    >>> gates.mean, gates.rows
    (array([0.75, 0.25]), array([[0.75, 0.25]]))
    """

    name: str
    place: str
    kind: str
    adapters: tuple[str, ...]
    weights: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean over all tokens that are no padding, by adapter."""
        flat = self.weights.reshape(-1, len(self.adapters))
        real = flat[~np.isnan(flat).any(1)]
        return real.mean(0) if len(real) else np.full(len(self.adapters), np.nan)

    @property
    def rows(self) -> NDArray[np.float64]:
        """The same of each row of the batch, shape (rows, adapters)."""
        there = ~np.isnan(self.weights).any(2, keepdims=True)
        whole = np.where(there, self.weights, 0.0).sum(1)
        counts = there.sum(1)
        return np.where(counts > 0, whole / np.maximum(counts, 1), np.nan)
