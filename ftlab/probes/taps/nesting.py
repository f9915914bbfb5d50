"""Tells the outermost of nested calls apart, for each thread by itself."""

import contextlib
import threading
from collections.abc import Iterator


class Nesting(threading.local):
    """True while this thread is within ``entered``.

    Torch's functions call each other (``Tensor.backward`` calls
    ``torch.autograd.backward``), and a subclass calls its base: one operation of the
    user is told once.

    Examples
    --------
    >>> from ftlab.probes.taps.nesting import Nesting
    >>> nesting = Nesting()
    >>> with nesting.entered():
    ...     nesting.inside
    True
    >>> nesting.inside
    False
    """

    inside = False

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Be inside for the length of the block."""
        self.inside = True
        try:
            yield
        finally:
            self.inside = False
