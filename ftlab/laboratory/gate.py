"""Lets requests of one adapter in together, and those of another when they are out."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

OVERTAKING = 16
"""Requests of the active adapter that may pass by one of another that waits."""


@dataclass(eq=False, slots=True)
class _Ticket:
    """A place in the queue; ``alone`` lets nobody else in."""

    name: str | None
    alone: bool = False


class Gate:
    """Requests wait here until the adapter that they ask for is active.

    Parameters
    ----------
    switch
        Makes an adapter active (``None``: none of them); called while nobody is inside.
    """

    def __init__(self, switch: Callable[[str | None], None]) -> None:
        self.switches = 0
        self._switch = switch
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._inside = 0
        self._active = _Ticket(None, alone=True)  # what is active is not known
        self._overtaken = 0

    @contextlib.contextmanager
    def passing(self, name: str | None) -> Iterator[float]:
        """Be inside with that adapter; yields the seconds that were waited."""
        with self._within(_Ticket(name)) as waited:
            yield waited

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Be inside with nobody else; no adapter counts as active afterwards."""
        with self._within(_Ticket(None, alone=True)):
            yield

    @contextlib.contextmanager
    def _within(self, ticket: _Ticket) -> Iterator[float]:
        began = time.perf_counter()
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: self._may_enter(ticket))
                self._enter(ticket)
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
        try:
            yield time.perf_counter() - began
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def _may_enter(self, ticket: _Ticket) -> bool:
        first = self._waiting[0] is ticket
        if not self._is_active(ticket):
            return first and not self._inside
        return first or self._overtaken < OVERTAKING

    def _enter(self, ticket: _Ticket) -> None:
        if not self._is_active(ticket):
            self._active = _Ticket(None, alone=True)  # until the switch is through
            if not ticket.alone:
                self._switch(ticket.name)
                self.switches += 1
            self._active, self._overtaken = ticket, 0
        elif self._waiting[0] is not ticket:
            self._overtaken += 1
        self._inside += 1

    def _is_active(self, ticket: _Ticket) -> bool:
        alone = ticket.alone or self._active.alone
        return not alone and ticket.name == self._active.name
