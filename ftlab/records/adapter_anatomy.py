"""What the adapters of a model are and do: plain values."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

AdapterState = Literal["active", "inactive", "disabled", "merged"]


@dataclass(frozen=True, slots=True)
class AdaptedLayer:
    """One adapter in one layer.

    Attributes
    ----------
    name
        Clean path of the layer.
    place
        Where that is in every architecture: ``"layers.3.attention.pre.norm"``.
    adapter, method
        The adapter's name, and PEFT's method: ``"LORA"``.
    parameters, trainable
        Numbers of parameters that it has there, and of those that are trained.
    dtype
        That of its parameters.
    norm
        Euclidean norm of its parameters, NaN where they are on the meta device.
    state
        What comes of it now.
    effect
        What the layer returns with its active adapters, against what it returns without
        them on the same input: Euclidean distance over the latter's size, over all
        tokens of a batch; NaN where it was not measured.
    rank, scaling
        Of LoRA: r, and the factor between B A and what is added.
    singular_values
        Of LoRA: singular values of scaling x B A, largest first, float64.
    weight
        Of LoRA: Frobenius norm of the base's weight; NaN where it is not known.
    intruders
        Of LoRA: how many of the ten largest directions of the adapted weight the base
        has not, see `ftlab.probes.adapter.intruders`; -1 where that was not asked.
    """

    name: str
    place: str
    adapter: str
    method: str
    parameters: int
    trainable: int
    dtype: str
    norm: float
    state: AdapterState
    effect: float = float("nan")
    rank: int = 0
    scaling: float = float("nan")
    singular_values: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    weight: float = float("nan")
    intruders: int = -1

    @property
    def effective_rank(self) -> float:
        """Exponential of the entropy of the normalised singular values."""
        total = float(self.singular_values.sum())
        if not total > 0:
            return total if self.singular_values.size else float("nan")
        shares = self.singular_values[self.singular_values > 0] / total
        return float(np.exp(-(shares * np.log(shares)).sum()))

    def rank_of(self, share: float) -> int:
        """Return how many directions hold a share of the energy, 0 if there is none."""
        energy = np.cumsum(self.singular_values**2)
        if not energy.size or not energy[-1] > 0:
            return 0
        return int(np.searchsorted(energy, share * energy[-1] * (1 - 1e-12))) + 1


@dataclass(frozen=True, slots=True)
class AdapterAnatomy:
    """All adapters of a model.

    Attributes
    ----------
    layers
        Each adapter in each layer, in the model's order.
    settings
        What each adapter was configured as, in words: ``"LoRA, r 8, alpha 16"``.
    shared
        Numbers of trained parameters by adapter, each counted once.
    moved
        Mean KL divergence of the next token, in nats, with all adapters from without;
        NaN where it was not measured.
    turned
        Share of tokens after which another token is the likeliest.
    notes
        What could not be measured, and why, and what to keep in mind.
    """

    layers: tuple[AdaptedLayer, ...]
    settings: dict[str, str]
    shared: dict[str, int]
    moved: float = float("nan")
    turned: float = float("nan")
    notes: tuple[str, ...] = ()
