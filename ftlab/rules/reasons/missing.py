"""Gradients that did not arrive, and the shape of a reason for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ftlab.records.finding import Place
from ftlab.records.names import NameRecord


@dataclass(frozen=True, slots=True)
class Missing:
    """Trainable tensors that received nothing, and the ones that did.

    Attributes
    ----------
    none
        Whether ``.grad`` was ``None``; otherwise it was exactly 0.
    lost, reached
        The tensors without and with a gradient, in the model's order.
    """

    none: bool
    lost: Sequence[NameRecord]
    reached: Sequence[NameRecord]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why; ``kind`` is stable and short, ``"unknown"`` when nothing is proven."""

    kind: str
    cause: str
    fix: str
    places: tuple[Place, ...] = ()
