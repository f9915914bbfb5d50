"""Lets requests of one adapter in together, and those of another when they are out."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

OVERTAKING = 16
"""Requests of the active adapter that may pass by one of another that waits."""


class Gate:
    """Requests wait here until ``switch`` has made their adapter active, or none."""

    def __init__(self, switch: Callable[[str | None], None]) -> None:
        self.switches = 0
        self._switch = switch
        self._changed = threading.Condition()
        self._waiting: list[list[str | None]] = []
        self._inside = 0
        self._active: list[str | None] = []  # the one name, or nothing: not known
        self._overtaken = 0

    @contextlib.contextmanager
    def passing(self, *name: str | None) -> Iterator[float]:
        """Be inside with an adapter, or, without a name, alone; yields the wait."""
        began, ticket = time.perf_counter(), list(name)
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: self._may_enter(ticket))
                self._enter(ticket)
            finally:
                self._waiting = [each for each in self._waiting if each is not ticket]
                self._changed.notify_all()
        try:
            yield time.perf_counter() - began
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def _may_enter(self, ticket: list[str | None]) -> bool:
        first = self._waiting[0] is ticket
        if not ticket or ticket != self._active:
            return first and not self._inside
        return first or self._overtaken < OVERTAKING

    def _enter(self, ticket: list[str | None]) -> None:
        if not ticket or ticket != self._active:
            self._active, self._overtaken = [], 0  # until the switch is through
            for name in ticket:
                self._switch(name)
                self.switches += 1
            self._active = ticket
        elif self._waiting[0] is not ticket:
            self._overtaken += 1
        self._inside += 1
