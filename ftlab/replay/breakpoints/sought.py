"""Where in a surveyed step its breakpoints stop.

A condition that a tensor met at the end of an operation may have been met long before:
the place to stop is the first operation whose result meets it while what it read does
not. A survey asks every result; `Sought` then walks from what was noticed to there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ftlab.replay.breakpoints.breakpoint import Breakpoint
from ftlab.replay.breakpoints.predicate import Predicate
from ftlab.replay.tracing.finite import float_leaves, measurable
from ftlab.replay.tracing.lineage import Lineage
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.traits import traits

LOSS = "the loss"


@dataclass(frozen=True, slots=True)
class Hit:
    """A breakpoint whose condition is met.

    Attributes
    ----------
    breakpoint
        Which.
    place
        The loss, or the gradient or module whose tensor met it; ``""`` for a place
        where it stops in any case.
    says
        What was measured, in words.
    """

    breakpoint: Breakpoint
    place: str = ""
    says: str = ""

    @property
    def condition(self) -> str:
        """Why the run stops, in words."""
        words = self.says or self.breakpoint.label
        return f"{self.place}: {words}" if self.place else words


@dataclass
class Sought:
    """The breakpoints that one step is to stop at.

    Attributes
    ----------
    hits
        What was noticed so far, and breakpoints that look at operations.
    stops
        After the survey: operations to stop at, and for what, in order.
    """

    hits: Sequence[Hit]
    stops: list[tuple[int, Hit]] = field(default_factory=list)
    _answered: dict[int, Hit] = field(default_factory=dict)
    _met: dict[int, dict[int, str]] = field(default_factory=dict)

    def look(self, site: Site, func: Any, made: Any) -> None:
        """Ask what an operation of the survey has made."""
        if traits(func).view:
            return
        for number, hit in enumerate(self.hits):
            asked = hit.breakpoint.when
            point = hit.breakpoint
            if asked is None or not point.enabled or point.in_ops > point.is_at(site):
                continue
            try:
                words = _asked(asked, made)
            except Exception as error:  # noqa: BLE001  the user's own function may fail
                point.fail(error)
                continue
            if words:
                self._met.setdefault(number, {}).setdefault(site.index, words)

    def settle(
        self,
        sites: Sequence[Site],
        lineage: Lineage,
        ends: Mapping[str, int],
    ) -> None:
        """Find the stops, when the survey is over.

        Parameters
        ----------
        ends
            The operations that made the loss and the gradients, by place.
        """
        found: dict[int, Hit] = {}
        for number, hit in enumerate(self.hits):
            met = self._met.get(number, {})
            if hit.breakpoint.in_ops:
                where = _in_ops(hit, sites, lineage, met)
            else:
                where = _upstream(sites, lineage, met, ends.get(hit.place, -1))
            for index in where:
                said = Hit(hit.breakpoint, hit.place, met.get(index, hit.says))
                found.setdefault(index, said)
        self.stops = sorted(found.items(), key=lambda stop: stop[0])

    def next(self, after: int = -1) -> int | None:
        """Return the next operation to stop at, ``None`` if there is none."""
        later = (i for i, hit in self.stops if i > after and hit.breakpoint.enabled)
        return next((index for index in later if index not in self._answered), None)

    def answer(self, index: int) -> Hit | None:
        """Return what the run stops for at an operation; it counts once."""
        hit = dict(self.stops).get(index)
        if hit is not None and index not in self._answered:
            self._answered[index] = hit
            hit.breakpoint.hits += 1
        return hit

    @property
    def noticed(self) -> Hit | None:
        """What was noticed for certain, wherever it comes from."""
        return next((hit for hit in self.hits if hit.place), None)


def _asked(asked: Predicate, made: Any) -> str:
    """Return what a predicate says of the first tensor that it holds for."""
    for tensor in float_leaves(made):
        plain = measurable(tensor)
        if plain is not None:
            value = float(asked.measure(plain))
            if asked.holds(value):
                return asked.says(value)
    return ""


def _in_ops(
    hit: Hit, sites: Sequence[Site], lineage: Lineage, met: Mapping[int, str]
) -> Iterator[int]:
    point = hit.breakpoint
    if point.when is None:
        yield from _arrivals(point, sites)
    elif point.when.own_places and not any(point.is_at(sites[i]) for i in met):
        inside = [s.index for s in sites if _is_forward_of(s, hit.place)]
        yield from inside[-1:]
    else:
        there = [site.index for site in sites if point.is_at(site)]
        for index in there:
            if index in met and not any(p in met for p in lineage.parents(index)):
                yield index


def _arrivals(point: Breakpoint, sites: Sequence[Site]) -> Iterator[int]:
    """Yield each operation that is meant, or the first of each stay in a module."""
    before = False
    for site in sites:
        here = point.is_at(site)
        if here and (point.op or not before):
            yield site.index
        before = here


def _upstream(
    sites: Sequence[Site], lineage: Lineage, met: Mapping[int, str], index: int
) -> Iterator[int]:
    """Go back from what was noticed as long as what was read meets the condition."""
    while index >= 0:
        phase = sites[index].phase  # a gradient's condition says nothing of forward
        read = [p for p in lineage.parents(index) if sites[p].phase == phase]
        earlier = [p for p in read if p in met and p < index]
        if not earlier:
            yield index
            return
        index = min(earlier)


def _is_forward_of(site: Site, module: str) -> bool:
    inside = site.module is not None and f"{site.module}.".startswith(f"{module}.")
    return inside and site.phase == "forward"
