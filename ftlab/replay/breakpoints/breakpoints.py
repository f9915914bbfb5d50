"""The breakpoints of one debugger."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ftlab.replay.breakpoints.breakpoint import Breakpoint
from ftlab.replay.breakpoints.sought import Hit

Found = tuple[str, str, str]
"""Code and name of a rule, and what it found in words."""


class Breakpoints:
    """A list that shows itself; made by `Debugger.break_at`.

    Attributes
    ----------
    findings
        Returns what the rules have found so far in the run that is debugged.
    """

    def __init__(self) -> None:
        self.findings: Callable[[], Iterable[Found]] = tuple
        self._points: list[Breakpoint] = []
        self._told: set[tuple[Breakpoint, str]] = set()

    def add(self, point: Breakpoint) -> Breakpoint:
        """Keep a breakpoint until it is removed."""
        point._remove = self._take_out  # noqa: SLF001  its own field, set by its keeper
        self._points.append(point)
        return point

    def clear(self) -> None:
        """Remove all."""
        self._points.clear()

    def forget(self) -> None:
        """Begin a new run: findings of an earlier one are no longer known."""
        self._told.clear()
        for point in self:
            if point.when is not None:
                point.when.forget()

    def counting(self, step: int) -> list[Breakpoint]:
        """List those that are on and meant for a step."""
        return [point for point in self._points if point.counts_in(step)]

    def found(self, points: Iterable[Breakpoint]) -> Hit | None:
        """Return the first whose finding has appeared; a rule counts once."""
        waiting = [point for point in points if point.finding]
        for code, name, words in self.findings() if waiting else ():
            for point in waiting:
                if point.finding in (code, name) and (point, code) not in self._told:
                    self._told.add((point, code))
                    point.hits += 1
                    return Hit(point, says=f"{code} {name}: {words}")
        return None

    def _take_out(self, point: Breakpoint) -> None:
        self._points = [each for each in self._points if each is not point]

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(tuple(self._points))

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: Any) -> Any:
        return self._points[index]

    def __repr__(self) -> str:
        if not self._points:
            return "no breakpoints; break_at(...) sets one"
        return "\n".join(f"{i} {point!r}" for i, point in enumerate(self._points))
