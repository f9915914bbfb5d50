"""Reading that Ctrl-C ends between two rows, or while it waits for the next one."""

from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Stop:
    """Hears Ctrl-C, and ends what goes through rows.

    The first one waits for the end of a row, so that none is left half counted. The
    second one interrupts the dataset if it still has not given its next row.

    Attributes
    ----------
    asked
        Whether it was heard.

    Examples
    --------
    >>> from ftlab.probes.data.files.stopping import Stop
    >>> stop = Stop()
    >>> rows = stop.rows(iter("abc"))
    >>> next(rows)
    'a'
    >>> stop.heard()
    >>> list(rows), stop.asked
    ([], True)
    """

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False

    def heard(self) -> None:
        """Take a Ctrl-C in.

        Raises
        ------
        KeyboardInterrupt
            It is not the first one, and a row is waited for.
        """
        if self.asked and self._waiting:
            raise KeyboardInterrupt
        self.asked = True

    def rows(self, rows: Iterator[T]) -> Iterator[T]:
        """Yield rows until it is asked to stop."""
        while not self.asked:
            try:
                self._waiting = True
                row = next(rows)
            except (StopIteration, KeyboardInterrupt):
                return
            finally:
                self._waiting = False
            yield row

    def checked(self, tick: Callable[[int], object]) -> Callable[[int], object]:
        """Return a tick that interrupts where it is called, if it was asked to."""

        def ticked(rows: int) -> None:
            if self.asked:
                raise KeyboardInterrupt
            tick(rows)

        return ticked
