"""The executions that two sides are compared by."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from ftlab.executions.captures import Captured
from ftlab.executions.distance import EXACT, apart, size
from ftlab.executions.floors import Ratios
from ftlab.executions.listening import Listener, Place
from ftlab.executions.pairs import Pair
from ftlab.executions.passes import Beside, Distances, Measured, is_output
from ftlab.executions.side import Side, Start, start_again
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape
from ftlab.executions.tokens import Grid, Meeting

ROUNDINGS = 8
"""Spacings by which a weight that was computed anew may be off: a product of two
matrices rounds with each term of its sums, and an adapter has 4 at least; its scale,
the sum with the old weight, and storing it round once each. With 4, a healthy merge of
an adapter twice as large as its base was measured at 3.1 times the floor."""


class Runs:
    """The executions of two sides that are compared.

    Attributes
    ----------
    tape
        Side a as it is.
    local
        From the same inputs, both in float64: what differs is computed otherwise.
    free
        Each on its own, as they are.
    """

    def __init__(self, pair: Pair, spool: Spool, start: Start) -> None:
        a, b = pair.a, pair.b
        meeting = pair.meeting or Meeting(Grid.of(a.batch), Grid.of(b.batch))
        self.a, self.b, self.meeting = a, b, meeting
        self._spool, self._start, self._backward = spool, start, pair.backward
        self.alike = Meeting(meeting.a, meeting.a)
        self.tape = Tape(spool)
        floor, carried = self._first()
        theirs = Tape(spool) if pair.rewritten else None
        local = Beside(self.wide, meeting, put=self.tape, keep=theirs)
        self.run(b, local, wide=True)
        if theirs is not None:
            again = Beside(theirs, Meeting(meeting.b, meeting.b), put=self.tape)
            spacing = ROUNDINGS * _coarsest(b.model)
            self.run(b, again, wide=True, rounding=spacing)
            floor.values.raise_to(again.values)
        self._floor = floor
        self.outputs = Tape(spool)
        self.freely = Beside(self.tape, meeting, keep=self.outputs, outputs_only=True)
        self.run(b, self.freely)
        self._wide_free: Tape | None = None
        self._tried: dict[frozenset[Place], tuple[Tape, Distances]] = {}
        self.local = Ratios(local, floor, self.freely)
        self.free = Ratios(self.freely, carried, self.freely)

    def _first(self) -> tuple[Measured, Measured]:
        """Record side a, or load it; return its floors, local and carried."""
        if isinstance(self.a, Captured):
            self.wide = self.tape
            return self.a.load(self.tape)
        self.run(self.a, Recording(self.tape))
        self.wide = Tape(self._spool)
        floor = Beside(self.tape, self.alike, put=self.tape, keep=self.wide)
        self.run(self.a, floor, wide=True)
        carried = Beside(self.tape, self.alike)
        self.run(self.a, carried, wide=True, backward=False)
        return floor.measured, carried.measured

    def run(
        self,
        side: Side,
        listener: Listener,
        *,
        wide: bool = False,
        rounding: float = 0.0,
        backward: bool = True,
        within: AbstractContextManager[Any] | None = None,
    ) -> None:
        """Execute a side from the common start."""
        self._start.restore_modules()
        start_again(side, self._start)
        backward = backward and self._backward
        side.run(
            listener,
            wide=wide,
            rounding=rounding,
            backward=backward,
            graph=self._backward,
            within=within,
        )

    @property
    def same(self) -> bool:
        """Whether both do the same to the bit, each on its own and as they are."""
        apart = {**self.freely.values.apart, **self.freely.gradients.apart}
        return bool(apart) and not any(bool(each.any()) for each in apart.values())

    def as_they_are(self) -> Ratios:
        """Compare what both make of the same inputs in the precision in use."""
        found = Beside(self.tape, self.meeting, put=self.tape)
        self.run(self.b, found)
        return Ratios(found, self._floor, self.freely)

    def left(self, places: Sequence[Place]) -> float:
        """Return how far apart the outputs are when b has a's values in some places.

        Both in float64, so that it is next to 0 where these are all that differs;
        relative to the outputs' size. NaN where side a is a capture.
        """
        if isinstance(self.a, Captured):
            return float("nan")
        _, found = self._with(places)
        shares = [
            float((found.apart[place] / found.sizes[place].clamp(min=1e-30)).max())
            for place in found.apart
            if is_output(place) and place not in places
        ]
        return max(shares, default=0.0)

    def changes(self, places: Sequence[Place]) -> bool | None:
        """Say whether b's outputs are others when it has a's values in some places.

        ``None`` where side a is a capture, which cannot run otherwise.
        """
        if isinstance(self.a, Captured):
            return None
        if any(is_output(place) for place in places):
            return True
        before, after = self._with(())[0], self._with(places)[0]
        moved, parts = self.meeting.moved, self.meeting.parts
        alike = Meeting(self.meeting.b, self.meeting.b, moved, parts)
        for place in before.values:
            one, other = (
                tape.spool.get(tape.values[place]) for tape in (before, after)
            )
            cells = alike.cells(one, other) if one.is_floating_point() else None
            if cells and bool((apart(*cells) > EXACT * size(cells[0])).any()):
                return True
        return False

    def _with(self, places: Sequence[Place]) -> tuple[Tape, Distances]:
        """Run b in float64 with a's values in some places; return its outputs."""
        key = frozenset(places)
        if key not in self._tried:
            if self._wide_free is None:
                self._wide_free = Tape(self._spool)
                recording = Recording(self._wide_free)
                assert isinstance(self.a, Side)
                self.run(self.a, recording, wide=True, backward=False)
            outputs = Tape(self._spool)
            listener = Beside(
                self._wide_free,
                self.meeting,
                put=self._wide_free,
                only=key,
                keep=outputs,
                outputs_only=True,
            )
            self.run(self.b, listener, wide=True, backward=False)
            self._tried[key] = (outputs, listener.values)
        return self._tried[key]


def _coarsest(*models: torch.nn.Module) -> float:
    """Return the relative spacing of the coarsest weights."""
    found = {p.dtype for m in models for p in m.parameters() if p.is_floating_point()}
    return max((torch.finfo(dtype).eps for dtype in found), default=0.0)
