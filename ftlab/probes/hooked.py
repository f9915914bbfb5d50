"""A probe that hears what happens within the user's own calls."""

from collections.abc import Iterable

from ftlab.probes.probe import Probe
from ftlab.probes.subject import Subject
from ftlab.records.handle import Handle, HandleStack


class HookedProbe(Probe):
    """A probe with hooks that it puts on and takes off while it is attached.

    A hook must not raise in the model: what goes wrong there is told to `_fail`, and
    raised by `_raise_failure` in a moment of the probe, where the recorder can catch
    it.
    """

    def __init__(self) -> None:
        self._hooks = HandleStack()
        self._error: Exception | None = None

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the hooks off at the end, whenever that is."""
        return [self._hooks]

    def _fail(self, error: Exception) -> None:
        self._error = error

    def _raise_failure(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error
