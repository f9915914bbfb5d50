"""What can be seen of a paused step: its tensors, its batch, its source and calls."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map_only

from ftlab.replay.stops.batch_text import SampleText
from ftlab.replay.stops.excerpt import Excerpt, Frame, Listing
from ftlab.replay.stops.histogram import Histogram
from ftlab.replay.stops.stop import Stop
from ftlab.replay.stops.trace import trace_of

if TYPE_CHECKING:
    from ftlab.views.replay import Replay


class Looking:
    """The properties of a debugger that show what lies behind its report.

    Tensors are copies: looking at them, and writing into them, changes nothing.
    """

    @property
    @abstractmethod
    def _stop(self) -> Stop | None:
        """Where the run waits, ``None`` when it does not."""

    @property
    def tensor(self) -> torch.Tensor | None:
        """A copy of the operation's output; ``None`` when not at an operation."""
        return None if self._stop is None else self._stop.tensor

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Copies of the operation's input tensors."""
        return () if self._stop is None else self._stop.inputs

    @property
    def batch(self) -> Any:
        """A copy of what the step was called with; ``None`` when not paused."""
        if self._stop is None:
            return None
        return tree_map_only(torch.Tensor, _copy, self._stop.batch)

    @property
    def source(self) -> Listing[Excerpt]:
        """The source text around the stop's lines: yours, and the library's."""
        stop = self._stop  # read once: the run may go on meanwhile
        return Listing() if stop is None else stop.source

    @property
    def stack(self) -> Listing[Frame]:
        """The calls in which the step waits, innermost last; torch's are left out."""
        stop = self._stop  # read once: the run may go on meanwhile
        return Listing() if stop is None else stop.stack

    @property
    def histogram(self) -> Histogram | None:
        """How the values of `tensor` are spread; ``None`` when not at an operation."""
        stop = self._stop  # read once: the run may go on meanwhile
        return None if stop is None else stop.histogram

    @property
    def batch_text(self) -> Listing[SampleText]:
        """The batch's tokens as text, with those marked that are non-finite."""
        stop = self._stop  # read once: the run may go on meanwhile
        return Listing() if stop is None else stop.batch_text

    @property
    def trace(self) -> "Replay | None":
        """The step op by op, each with the range of what it made; none of it runs.

        ``None`` where the step was not surveyed: when not paused, or where it cannot be
        executed again.
        """
        stop = self._stop  # read once: the run may go on meanwhile
        found = None if stop is None else trace_of(stop)
        if stop is None or found is None:
            return None
        from ftlab.views.replay import Replay

        site = stop.report.site
        return Replay(found, at=None if site is None else site.index)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()
