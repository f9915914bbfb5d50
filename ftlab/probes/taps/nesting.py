"""Tells the outermost of nested calls apart, for each thread by itself."""

import threading
from types import TracebackType


class Nesting(threading.local):
    """Inside while this thread is within ``with nesting:``.

    Torch's functions call each other (``Tensor.backward`` calls
    ``torch.autograd.backward``), and a subclass calls its base: one operation of the
    user is told once.

    Examples
    --------
    >>> from ftlab.probes.taps.nesting import Nesting
    >>> nesting = Nesting()
    >>> with nesting:
    ...     nesting.inside
    True
    >>> nesting.inside
    False
    """

    inside = False

    def __enter__(self) -> None:
        self.inside = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.inside = False
