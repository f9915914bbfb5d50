"""Whether weights are still what they were, told without waiting for the device."""

from collections.abc import Iterable

import torch

from ftlab.probes.readback import Delivery
from ftlab.probes.tensors.updates import spaced

ELEMENTS = 64
"""Elements of each weight that are compared."""


class StillWeights:
    """A sample of some weights, to be compared with what they are later.

    Parameters
    ----------
    weights
        Few: a sample of each is copied at once.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.stepping.still_weights import StillWeights
    >>> weight = torch.zeros(4)
    >>> still = StillWeights([weight])
    >>> still.look(wait=True)
    False
    >>> _ = weight.add_(1)
    >>> still.look(wait=True)
    True
    """

    def __init__(self, weights: Iterable[torch.Tensor]) -> None:
        self._weights = list(weights)
        self._before = [each.clone() for each in self._now()]
        self._delivery: Delivery | None = None

    def look(self, *, wait: bool = False) -> bool | None:
        """Tell whether any has changed; ``None`` where the answer is on its way.

        Nothing can be said of no weights at all: that is ``None`` too.
        """
        if wait:
            self._delivery = None
        if self._delivery is None:
            pairs = zip(self._now(), self._before, strict=True)
            changed = [(now != before).any() for now, before in pairs]
            if not changed:
                return None
            self._delivery = Delivery([torch.stack(changed).float()])
        if not (wait or self._delivery.arrived()):
            return None
        (values,) = self._delivery.arrays(wait=wait)
        self._delivery = None
        return bool(values.any())

    def _now(self) -> list[torch.Tensor]:
        return [spaced(each.detach())[:ELEMENTS] for each in self._weights]
