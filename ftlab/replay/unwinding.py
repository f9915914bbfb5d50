"""Sees to it that a step which is being left is really left.

The step is unwound with exceptions. A bare ``except:``, ``finally: return`` or
``contextlib.suppress(BaseException)`` in it catches these too, and the step would run
on as if nothing had happened. `Unwinding` remembers what was raised: it raises it again
at the next operation, and in any case where the step returns.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ftlab.records.errors import FtlabWarning
from ftlab.replay.tracing.site import shown

T = TypeVar("T")

PATIENCE = 20
"""How often the exception is raised again before the step may run to its end.

A loop that tries until nothing is raised would never end otherwise.
"""


class Unwinding:
    """The exception that an attempt at a step is left with; one object for a run.

    Attributes
    ----------
    caught_at
        Where a step has caught one of them, ``""`` if it never has.
    """

    def __init__(self) -> None:
        self.caught_at = ""
        self._error: BaseException | None = None
        self._again = 0
        self._warned = False

    def call(self, function: Callable[[], Any]) -> Any:
        """Call the step; what `leave` raised comes out, whatever the step does."""
        self._error, self._again = None, 0
        result = None
        try:
            result = function()
        except BaseException as error:
            if self._left_with in (None, error):
                self._warn()
                raise
        left_with, self._error = self._left_with, None
        if left_with is None:
            return result
        self._note(left_with)
        self._warn()
        raise left_with.with_traceback(None) from None

    @property
    def _left_with(self) -> BaseException | None:
        return self._error

    def leave(self, error: BaseException) -> NoReturn:
        """Raise ``error`` until the step is left."""
        self._error = error
        raise error

    def holding(self, function: Callable[[Any], T]) -> Callable[[Any], T]:
        """Make ``function`` one whose errors leave the step."""

        def held(value: Any) -> T:
            try:
                return function(value)
            except BaseException as error:  # noqa: BLE001  raised until it is out
                self.leave(error)

        return held

    @property
    def resigned(self) -> bool:
        """Whether the step runs to its end for nothing; it must not change weights."""
        return self._error is not None and self._again >= PATIENCE

    def insist(self, *, while_handled: bool = False) -> bool:
        """Raise again what the step has caught.

        Returns whether the step should have been left, so that what it does now is
        for nothing.

        Parameters
        ----------
        while_handled
            Also within the handler: it might raise the exception again by itself, and
            a ``finally`` does, so that is not disturbed without need.
        """
        if self._error is None or self._again >= PATIENCE:
            return self._error is not None
        handled = sys.exc_info()[1]
        while handled is not None and not while_handled:
            if handled is self._error:
                return True
            handled = handled.__context__
        self._note(self._error)
        self._again += 1
        raise self._error.with_traceback(None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report says of it."""
        if not self.caught_at:
            return ()
        note = (
            "The step catches the exception with which ftlab.debug takes it back to "
            f"its start, at {self.caught_at}. It was taken back nevertheless, but what "
            "it did after the catch is no part of the run. Write `except Exception:` "
            "there, and no `return` in a `finally:`."
        )
        return (note,)

    def _note(self, error: BaseException) -> None:
        trace = error.__traceback__  # begins in the frame that caught it
        if trace is not None and not self.caught_at:
            code = trace.tb_frame.f_code
            self.caught_at = shown(code.co_filename, trace.tb_lineno, code.co_name)

    def _warn(self) -> None:
        if self.caught_at and not self._warned:
            self._warned = True
            warnings.warn("".join(self.notes), FtlabWarning, stacklevel=2)
