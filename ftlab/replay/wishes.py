"""What a user wants of a debugged run, whichever engine executes it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ftlab.replay.breakpoints.breakpoints import Breakpoints
from ftlab.replay.control import Command
from ftlab.replay.responses.responses import Responses
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop

MEMORY_BUDGET = 256 * 2**20
"""Bytes for copies of weights and optimizer state, unless the user says otherwise."""

Policy = Callable[[PauseReport], "str | Command | None"]
"""Decides at a stop: gets the report, returns a command; ``None`` resumes."""


def _nothing(_: Stop) -> None:
    """Do nothing with a stop."""


@dataclass(slots=True)
class Wishes:
    """What lasts longer than one engine.

    Attributes
    ----------
    policy
        Decides at a stop instead of the caller.
    budget
        Bytes that copies of weights and optimizer state may take.
    breakpoints
        What else the run stops at.
    responses
        What the run does by itself.
    on_stop
        Called with each stop before anybody decides; must not raise.
    """

    policy: Policy | None = None
    budget: int = MEMORY_BUDGET
    breakpoints: Breakpoints = field(default_factory=Breakpoints)
    responses: Responses = field(default_factory=Responses)
    on_stop: Callable[[Stop], None] = _nothing

    def forget(self) -> None:
        """Begin a new run: what was seen in an earlier one counts no more."""
        self.breakpoints.forget()
        self.responses.forget()
