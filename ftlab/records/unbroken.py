"""What an interrupt must not cut in two: taking hold of something, and letting go.

Python raises KeyboardInterrupt between any two instructions, and whatever else a
program's handler of a signal raises. Within `unbroken` all of it waits for the end.
"""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Taken = TypeVar("Taken")

_handlers: dict[int, Any] = {}
"""The handlers that are held back, by signal; only the main thread gets any."""
_waiting: list[int] = []


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Hold back what interrupts the main thread; its handlers are called afterwards.

    One call for each signal, however often it came. In another thread, and within
    another of these blocks, nothing needs to be done.

    Examples
    --------
    >>> import signal
    >>> from ftlab.records.unbroken import unbroken
    >>> try:
    ...     with unbroken():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("all of it")
    ... except KeyboardInterrupt:
    ...     print("and then the interrupt")
    all of it
    and then the interrupt
    """
    if _handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        _hold_back()
        yield
    finally:
        _deliver()


def take(make: Callable[[], Taken], let_go: Callable[[Taken], None]) -> Taken:
    """Return what ``make`` takes hold of.

    Where an interrupt waits, nobody will get it: then it is let go of again.
    """
    taken: list[Taken] = []
    try:
        with unbroken():
            taken.append(make())
        return taken[0]
    except BaseException:
        with unbroken():
            for each in taken:
                let_go(each)
        raise


def _hold_back() -> None:
    found = {each: signal.getsignal(each) for each in signal.valid_signals()}
    _handlers.update({each: call for each, call in found.items() if callable(call)})
    for number in _handlers:
        signal.signal(number, _wait)


def _wait(number: int, _: Any) -> None:
    _waiting.append(number)


def _deliver() -> None:
    """Give the handlers back, and call those whose signal came."""
    handlers = dict(_handlers)
    try:
        _give_back()
    except BaseException:  # what one that was back already has raised
        _give_back()
        raise
    finally:
        came = dict.fromkeys(_waiting)
        _waiting.clear()
        with contextlib.ExitStack() as calls:  # all, though one raises
            for number in reversed(came):
                calls.callback(handlers[number], number, sys._getframe())  # noqa: SLF001


def _give_back() -> None:
    for number in tuple(_handlers):
        signal.signal(number, _handlers[number])
        del _handlers[number]
