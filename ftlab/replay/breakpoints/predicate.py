"""The shape of a predicate: it measures a tensor, and judges the number.

A tensor is measured where it lies, so that many numbers are read back together. Those
predicates that go by a tensor's own history keep it by place: the parameter or module,
and the micro-batch.
"""

import torch


class Predicate:
    """A question to a tensor.

    Attributes
    ----------
    label
        The question in words.
    own_places
        Whether it goes by the history of named places; `holds` without a place then
        judges by the number alone, or not at all.
    """

    label = "a condition"
    own_places = False

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return what is judged, a number that may still be on a device.

        Parameters
        ----------
        tensor
            Floating-point, with at least one value.
        """
        raise NotImplementedError

    def holds(self, value: float, place: str = "") -> bool:
        """Judge what was measured at ``place``, ``""`` where that has no history."""
        raise NotImplementedError

    def says(self, value: float) -> str:
        """Put a number that holds into words."""
        return f"{self.label}: {value:.3g}"

    def forget(self) -> None:
        """Begin a new run: what is known of places is no longer true."""

    def __repr__(self) -> str:
        return self.label


class _Present(Predicate):
    """Nothing: any tensor will do."""

    label = "whenever it is there"

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.ones((), device=tensor.device)

    def holds(self, value: float, place: str = "") -> bool:
        return True

    def says(self, value: float) -> str:
        return "its gradient is there"


def present() -> Predicate:
    """Ask nothing: any tensor will do."""
    return _Present()


def largest(tensor: torch.Tensor) -> torch.Tensor:
    """Return the largest magnitude, where the tensor lies."""
    low, high = torch.aminmax(tensor)
    return torch.maximum(high, -low)
