"""The replays of one step: a survey of all its operations, then runs to chosen ones."""

from collections.abc import Callable
from typing import Any

from ftlab.replay.capsule import Capsule
from ftlab.replay.control import Rewind
from ftlab.replay.runner import OpStop, StepRunner
from ftlab.replay.survey import Survey, Surveyor
from ftlab.replay.torch_private import TorchDispatchMode


class Retrace:
    """What is known of a step from executing it again.

    Parameters
    ----------
    capsule
        The step's start.
    insist
        Called before each op, see `Unwinding.insist`.
    interrupted
        Whether the caller wants a stop.

    Attributes
    ----------
    survey
        Made at the first rewind; ``None`` before.
    surveyor
        At work while the survey is made.
    runner
        Of the attempt under way; ``None`` for the first one, which runs untraced.
    """

    def __init__(
        self,
        capsule: Capsule,
        insist: Callable[[], bool],
        interrupted: Callable[[], bool],
    ) -> None:
        self.survey: Survey | None = None
        self.surveyor: Surveyor | None = None
        self.runner: StepRunner | None = None
        self._capsule = capsule
        self._insist = insist
        self._interrupted = interrupted

    @property
    def mode(self) -> TorchDispatchMode | None:
        """What sees the operations now, if anything does."""
        return self.runner if self.surveyor is None else self.surveyor.tracer

    def aim(
        self,
        rewind: Rewind,
        execute: Callable[[], Any],
        pause: Callable[[OpStop], int | None],
    ) -> None:
        """Go back to the start, and let the next attempt stop at the wanted op.

        Parameters
        ----------
        execute
            Runs the step once, for the survey.
        pause
            Called at the op; returns the next one to stop at.
        """
        self.runner = None
        self._capsule.restore()
        if self.survey is None:
            self.survey = self._look(execute)
            self._capsule.restore()
        self.runner = StepRunner(
            self.survey.sites,
            self.survey.target(rewind),
            rewind.reason,
            pause,
            self._interrupted,
            self._insist,
        )

    def _look(self, execute: Callable[[], Any]) -> Survey:
        capsule = self._capsule
        self.surveyor = Surveyor(
            capsule.model, capsule.trainable, capsule.inputs, self._insist
        )
        try:
            return self.surveyor.run(execute)
        finally:
            self.surveyor = None
