"""Hears Ctrl-C, and a notebook's stop button, while a thread waits for training."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def on_interrupt(heard: Callable[[], None]) -> Iterator[None]:
    """Call ``heard`` instead of raising KeyboardInterrupt within a ``with`` block.

    The exception could strike between any two instructions, and one that strikes in
    code which handles another is lost on it. Only the main thread gets interrupts, so
    elsewhere this does nothing; nor does it where the program ignores them.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(
        before
    ):
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: heard())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
