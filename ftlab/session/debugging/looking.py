"""What can be seen of a paused step: its tensors, its batch, its source and calls."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.utils._pytree import tree_map_only

from ftlab.records.errors import BadValueError, NotPausedError
from ftlab.replay.stops.batch_text import SampleText
from ftlab.replay.stops.excerpt import Excerpt, Frame, Listing
from ftlab.replay.stops.histogram import Histogram
from ftlab.replay.stops.stop import Stop
from ftlab.replay.stops.trace import trace_of
from ftlab.replay.stops.variables import Variables
from ftlab.replay.tracing.modules import parameters_at
from ftlab.session.debugging.shown import shown, shown_tensor

if TYPE_CHECKING:
    from ftlab.replay.engine import Engine
    from ftlab.session.token_looks import Paused, Tokens
    from ftlab.views.replay.replay import Replay


class Looking:
    """The properties of a debugger that show what lies behind its report.

    Tensors are copies: looking at them, and writing into them, changes nothing.
    """

    _engine: "Engine"

    def under_way(self) -> tuple[Any, Any, Any]:
        """Return the model, what its step was called with and the trainer, if any."""
        moment = self._engine.moment()
        return moment.model, self._copied_batch(), moment.owner

    @property
    @abstractmethod
    def _stop(self) -> Stop | None:
        """Where the run waits, ``None`` when it does not."""

    @property
    @abstractmethod
    def _model(self) -> torch.nn.Module | None:
        """What is trained, ``None`` where that is not known."""

    @property
    def tensor(self) -> torch.Tensor | None:
        """A copy of the operation's output; ``None`` when not at an operation.

        It is shown as shape, range, bad values and a histogram; ``dbg.tensor[:]``
        prints the numbers.
        """
        return None if self._stop is None else shown_tensor(self._stop.tensor)

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Copies of the operation's input tensors, shown as `tensor` is."""
        stop = self._stop  # read once: the run may go on meanwhile
        if stop is None:
            return ()
        found: tuple[torch.Tensor, ...] = shown(
            stop.inputs, [each.name for each in stop.report.inputs]
        )
        return found

    @property
    def batch(self) -> Any:
        """A copy of what the step was called with, its tensors shown as `tensor` is.

        ``None`` when not paused.
        """
        return shown(self._copied_batch())

    def _copied_batch(self) -> Any:
        stop = self._stop  # read once: the run may go on meanwhile
        if stop is None:
            return None
        return tree_map_only(torch.Tensor, _copy, stop.batch)

    def tokens(self, *, losses: bool = False) -> "Tokens":
        """Show the step's batch token by token, see `ftlab.tokens`.

        Parameters
        ----------
        losses
            Execute the step once more for the loss of each token, as `blame` does.

        Raises
        ------
        NotPausedError
            When the run is not at a stop.
        """
        from ftlab.session.token_looks import look_at_step

        return look_at_step(cast("Paused", self), losses=losses)

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

    def frame(self, index: int | None = None) -> Frame:
        """Return one call of `stack`, with its ``locals``.

        Parameters
        ----------
        index
            Its position in `stack`, ``-1`` for the innermost; by default the innermost
            of your own code.

        Raises
        ------
        NotPausedError
            When the run is not at a stop.
        BadValueError
            When the stack has no such call.
        """
        stack = self.stack
        if not stack:
            msg = "frame: the run is not at a stop within your code; run() it to one."
            raise NotPausedError(msg)
        if index is None:
            mine = [each for each in stack if each.yours]
            return (mine or list(stack))[-1]
        if not -len(stack) <= index < len(stack):
            msg = f"frame({index}): dbg.stack has the calls 0 to {len(stack) - 1}."
            raise BadValueError(msg)
        return stack[index]

    @property
    def locals(self) -> Variables:
        """The local variables of the innermost of your own calls; tensors are copies.

        In backward that is the call of ``backward()``. They can be read until the run
        goes on. ``dbg.frame(0).locals`` are those of another call.
        """
        stack = self.stack
        return self.frame().locals if stack else Variables(words="variables")

    @property
    def parameters(self) -> Variables:
        """Copies of the parameters of the module that the stop is in, by name.

        At a stop in no module they are all that are trained, by their full names.
        """
        stop, model = self._stop, self._model
        if stop is None or model is None:
            return Variables(words="parameters")
        found = parameters_at(model, stop.report.module)
        return Variables(
            lambda: found if self._stop is stop else None, words="parameters"
        )

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
        from ftlab.views.replay.replay import Replay

        site = stop.report.site
        return Replay(found, at=None if site is None else site.index)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()
