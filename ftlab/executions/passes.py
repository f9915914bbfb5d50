"""Executions beside a tape: what is compared with it, and what it puts in."""

from collections import deque
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.executions.distance import apart, size, unit
from ftlab.executions.listening import Listener, Place, shared_name
from ftlab.executions.spool import identity_of
from ftlab.executions.tape import Tape, of_weight, weight_gradients
from ftlab.executions.tokens import Meeting


@dataclass(slots=True)
class Distances:
    """How far one kind of an execution's tensors are from a tape's, float64 by cell.

    Attributes
    ----------
    apart, sizes
        Distance, and norm of the tape's value, by place; by name for the gradients of
        parameters, which are one cell each.
    units
        What storing the execution's value rounds on average, relative.
    whole
        Places of whole numbers, such as the experts that were chosen.
    """

    apart: dict[Place, torch.Tensor] = field(default_factory=dict)
    sizes: dict[Place, torch.Tensor] = field(default_factory=dict)
    units: dict[Place, float] = field(default_factory=dict)
    whole: set[Place] = field(default_factory=set)

    def note(
        self, place: Place, cells: tuple[torch.Tensor, torch.Tensor], unit: float
    ) -> None:
        """Measure what one tensor's cells are apart."""
        if not cells[1].is_floating_point():
            self.whole.add(place)
        mask = "mask" in place.path
        self.apart[place] = apart(*cells, mask=mask)
        self.sizes[place] = size(cells[0], mask=mask)
        self.units[place] = unit

    def raise_to(self, other: "Distances") -> None:
        """Take the larger distance where both have measured one."""
        for place, apart_there in other.apart.items():
            mine = self.apart.get(place)
            if mine is not None and mine.shape == apart_there.shape:
                self.apart[place] = torch.maximum(mine, apart_there)

    def copy(self, place: Place, other: Place) -> None:
        """Take for one place what was measured at another."""
        if other in self.apart:
            self.apart[place] = self.apart[other]
            self.sizes[place] = self.sizes[other]
            self.units[place] = self.units[other]
        if other in self.whole:
            self.whole.add(place)


@dataclass(slots=True)
class Measured:
    """Distances in forward and backward.

    Attributes
    ----------
    values, gradients
        By place.
    """

    values: Distances
    gradients: Distances


class Beside(Listener):
    """Compares each tensor with a tape's, and may go on with another tape's.

    Parameters
    ----------
    tape
        Of the other execution.
    meeting
        Which of its cells are compared.
    put
        A tape whose values go on in the place of this execution's: each module is then
        asked for what it makes of the same inputs. ``None``: the execution runs free.
    only
        Places at which they do; everywhere if it is ``None``.
    keep
        Where this execution's own tensors are kept.
    outputs_only
        Keep only what the model itself returns.

    Attributes
    ----------
    values, gradients
        What was found, in this execution's order.
    alone
        Modules that the tape does not have.
    """

    def __init__(
        self,
        tape: Tape,
        meeting: Meeting,
        *,
        put: Tape | None = None,
        only: Container[Place] | None = None,
        keep: Tape | None = None,
        outputs_only: bool = False,
    ) -> None:
        self.values = Distances()
        self.gradients = Distances()
        self.alone: dict[str, None] = {}
        self._modules = {place.module for place in tape.values}
        self._tape = tape
        self._meeting = meeting
        self._put = put
        self._only = only
        self._keep = keep
        self._outputs_only = outputs_only
        self._seen: deque[Any] = deque(maxlen=8)

    @property
    def measured(self) -> Measured:
        """What was found, in both phases."""
        return Measured(self.values, self.gradients)

    def value(self, place: Place, tensor: torch.Tensor, *, again: bool) -> torch.Tensor:
        """Compare a tensor of forward and return what goes on."""
        kept = self._tape.values.get(place)
        key = (identity_of(tensor), kept, "mask" in place.path)
        for seen, _, other, forced in self._seen:
            if seen == key and not again:
                self.values.copy(place, other)
                self._hold(place, tensor, forward=True)
                if self._stands_in(place) == self._stands_in(other):
                    return tensor if forced is None else forced
        new = self._value(place, tensor, again=again)
        forced = None if new is tensor else new
        self._seen.append((key, tensor.detach(), place, forced))
        return new

    def _value(
        self, place: Place, tensor: torch.Tensor, *, again: bool
    ) -> torch.Tensor:
        if not again:
            self._hold(place, tensor, forward=True)
            self._compare(place, tensor)
        other = self._instead(place, forward=True)
        return tensor if other is None else self._meeting.forced(other, tensor.detach())

    def gradient(self, place: Place, gradient: torch.Tensor) -> torch.Tensor | None:
        """Compare a gradient and return what goes on."""
        if place in self.gradients.apart:
            return None
        self._hold(place, gradient, forward=False)
        kept = self._tape.gradients.get(place)
        cells = kept and self._meeting.cells(self._tape.spool.get(kept), gradient)
        if not cells:
            return None
        self.gradients.note(place, cells, unit(gradient.dtype))
        other = self._instead(place, forward=False)
        return None if other is None else self._meeting.forced(other, gradient)

    def awaits(self, place: Place) -> bool:
        """Say whether the tape that goes on has a gradient here."""
        return self._put is not None and place in self._put.gradients

    def finished(self, model: torch.nn.Module) -> None:
        """Compare the gradients of parameters; one that is lost is infinitely far."""
        for name, gradient in weight_gradients(model):
            place = of_weight(name)
            self._hold(place, gradient, forward=False)
            kept = self._tape.gradients.get(place)
            if kept is not None and kept.shape == tuple(gradient.shape):
                theirs = self._tape.spool.get(kept).reshape(1, -1)
                cells = (theirs, gradient.reshape(1, -1))
                self.gradients.note(place, cells, unit(gradient.dtype))
        for name, parameter in model.named_parameters():
            kept = self._tape.gradients.get(place := of_weight(shared_name(name)))
            if kept is not None and parameter.requires_grad and parameter.grad is None:
                theirs = self._tape.spool.get(kept).reshape(1, -1)
                lost = (theirs, torch.full_like(theirs, torch.inf))
                self.gradients.note(place, lost, unit(theirs.dtype))

    def _compare(self, place: Place, tensor: torch.Tensor) -> None:
        kept = self._tape.values.get(place)
        if kept is None:
            if place.module not in self._modules:
                self.alone[place.module] = None
            return
        cells = self._meeting.cells(self._tape.spool.get(kept), tensor)
        if cells:
            self.values.note(place, cells, unit(tensor.dtype))

    def _hold(self, place: Place, tensor: torch.Tensor, *, forward: bool) -> None:
        """Keep this execution's own tensor, if it is asked for."""
        if self._keep is None or (self._outputs_only and not is_output(place)):
            return
        held = self._keep.values if forward else self._keep.gradients
        held[place] = self._keep.spool.put(tensor)

    def _instead(self, place: Place, *, forward: bool) -> torch.Tensor | None:
        """Return what goes on in a tensor's place, if anything does."""
        if self._put is None or not self._stands_in(place):
            return None
        kept = (self._put.values if forward else self._put.gradients).get(place)
        return None if kept is None else self._put.spool.get(kept)

    def _stands_in(self, place: Place) -> bool:
        return self._put is not None and (self._only is None or place in self._only)


def is_output(place: Place) -> bool:
    """Say whether the model itself returns what stands at a place."""
    return place.module == "" and place.kind == "out"
