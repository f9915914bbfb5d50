"""The replays of one step: a survey of all its operations, then runs to chosen ones."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ftlab.replay.breakpoints.sought import Sought
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.control import Rewind, Visitor
from ftlab.replay.torch_private import TorchDispatchMode
from ftlab.replay.tracing.runner import OpStop, StepRunner
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.survey import Survey, Surveyor
from ftlab.replay.trials.changes import Change


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
    sought
        The breakpoints that the survey has found the places of, if any.
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
        self.surveyor: Surveyor | Visitor | None = None
        self.runner: StepRunner | None = None
        self.sought: Sought | None = None
        self._numbered: Sequence[Site] | None = None
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
        if rewind.sought is not None:
            self.survey, self.sought = None, rewind.sought
        if self.survey is None:
            self.survey = self._look(execute, sought=rewind.sought)
            self._capsule.restore()
        target = self.survey.target(rewind)
        if target is None:  # no breakpoint is met in this step after all
            return
        self.runner = StepRunner(
            self.survey.sites,
            target,
            rewind.reason,
            pause,
            self._interrupted,
            self._insist,
        )

    def numbered(self, execute: Callable[[], Any]) -> Sequence[Site]:
        """Return the operations with the calls that issued them; surveyed once."""
        if self._numbered is None:
            self.runner = None
            self._capsule.restore()
            with warnings.catch_warnings():
                # Said before; said again it would be in our name, who make the calls.
                warnings.simplefilter("ignore")
                self._numbered = self._look(execute, numbered=True).sites
        return self._numbered

    def look_with(self, change: Change, execute: Callable[[], Any]) -> str:
        """Execute the step once with a change, and say what came of it."""
        self.runner = None
        self._capsule.restore()
        try:
            outcome = self._look(execute).outcome()
        except Exception as error:  # noqa: BLE001  the user's own function may fail
            outcome = f"failed with {type(error).__name__}: {error}"
        return f"{change.label}: {outcome}"

    def visit(self, visitor: Visitor, execute: Callable[[], Any]) -> None:
        """Let ``visitor`` execute the step once."""
        self.runner = None
        self._capsule.restore()
        self.surveyor = visitor
        try:
            visitor.run(execute, self._capsule, self._insist)
        finally:
            self.surveyor = None

    def forget(self) -> None:
        """Go back to the start and forget the survey: the step has changed."""
        self.survey = self.runner = self._numbered = self.sought = None
        self._capsule.restore()

    def _look(
        self,
        execute: Callable[[], Any],
        *,
        numbered: bool = False,
        sought: Sought | None = None,
    ) -> Survey:
        capsule = self._capsule
        self.surveyor = Surveyor(
            capsule.model,
            capsule.trainable,
            capsule.inputs,
            self._insist,
            numbered,
            sought,
        )
        try:
            with capsule.model_calls:
                survey = self.surveyor.run(execute)
                survey.moved = capsule.moved
                return survey
        finally:
            self.surveyor = None
