"""What the caller may ask of a paused step, and how the worker unwinds for it.

`Rewind` and `Abort` derive from BaseException, so that ``except Exception`` in the
user's step lets them through.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch

from ftlab.records.errors import BadValueError
from ftlab.replay.trials.changes import Plan

Verb = Literal["resume", "abort", "step", "back", "try", "visit"]

_VERBS = ("resume", "abort", "step", "back")
WHOLE = ("micro-batch", "optimizer step")
"""Units that end where the step does."""


class Visitor(Protocol):
    """Executes a paused step once more, on the training thread, to look at it.

    The step is at its start before and afterwards; then it runs to its stop again.
    Errors are for the visitor to keep: what `run` raises ends the training.

    Attributes
    ----------
    tracer
        A mode that sees the operations while its ``silent`` is false; ``None`` if none.
    """

    tracer: Any

    def run(
        self, execute: Callable[[], Any], capsule: Any, insist: Callable[[], bool]
    ) -> None:
        """Call ``execute``; the step is left where its weights would change.

        ``insist`` is to be called before each op, see `Unwinding.insist`.
        """

    def note(self, losses: Sequence[torch.Tensor]) -> None:
        """Hear that backward begins from ``losses``, which are unscaled."""

    def after_backward(self) -> None:
        """Hear that backward is over."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command to a paused run.

    Attributes
    ----------
    verb
        ``resume`` lets training go on, ``abort`` ends it, ``step`` and ``back`` move
        within the replayed step; ``try`` executes it with a change and comes back;
        ``visit`` lets a visitor execute it and comes back.
    unit
        Where ``step`` and ``back`` lead: ``"op"``, ``"module"``, ``"micro-batch"``,
        ``"optimizer step"``; or a pattern of module paths, ``"layers.*.mlp"``, that of
        their backward with ``"backward"`` before it.
    count
        How many of them.
    change
        What ``try`` executes the step with.
    with_change
        Whether ``resume`` takes the step as it was tried last.
    visitor
        Who executes the step for ``visit``.

    Examples
    --------
    >>> from ftlab.replay.control import Command
    >>> Command.parse("step module")
    Command(verb='step', unit='module', count=1)
    >>> Command.parse("step backward layers.1.mlp")
    Command(verb='step', unit='backward layers.1.mlp', count=1)
    >>> Command.parse("stop")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: 'stop' is no command; allowed are 'resume', \
'abort', 'step', 'back', the last two followed by 'op', 'module', 'micro-batch', \
'optimizer step' or a pattern of modules.
    """

    verb: Verb
    unit: str = "op"
    count: int = 1
    change: Plan | None = field(default=None, repr=False)
    with_change: bool = field(default=False, repr=False)
    visitor: Visitor | None = field(default=None, repr=False)

    @property
    def whole(self) -> bool:
        """Whether it leads over the end, or to the start, of the step."""
        return self.unit in WHOLE

    @classmethod
    def parse(cls, text: "str | Command") -> "Command":
        """Read ``"resume"``, ``"abort"``, ``"step op"``, ``"back module"``..."""
        if isinstance(text, Command):
            return text
        verb, _, unit = " ".join(str(text).split()).partition(" ")
        moves = verb in ("step", "back")
        if verb not in _VERBS or (unit and not moves):
            msg = (
                f"{text!r} is no command; allowed are 'resume', 'abort', 'step', "
                "'back', the last two followed by 'op', 'module', 'micro-batch', "
                "'optimizer step' or a pattern of modules."
            )
            raise BadValueError(msg)
        return cls(verb, unit or "op")  # type: ignore[arg-type]  # it was looked up

    @classmethod
    def move(cls, verb: Literal["step", "back"], unit: str, count: int) -> "Command":
        """Make a checked ``step`` or ``back`` command."""
        unit = " ".join(str(unit).split())
        if not unit:
            msg = (
                f"{verb}(to=''): pass 'op', 'module', 'micro-batch', 'optimizer step', "
                "or a pattern of modules such as 'layers.*.mlp' or 'backward lm_head'."
            )
            raise BadValueError(msg)
        if count < 1:
            msg = f"{verb}(count={count!r}): pass a number from 1."
            raise BadValueError(msg)
        return cls(verb, unit, count)


class Rewind(BaseException):
    """Unwinds the step to its start.

    Parameters
    ----------
    target
        Index of the op to run to, or a command from the end of the step; ``None``
        looks for the culprit.
    reason
        Why the run will stop there: ``"anomaly"``, ``"breakpoint"``, ``"step"``,
        ``"back"``.
    command
        What it unwinds for, where the target does not say it.
    sought
        Breakpoints whose places are to be found first.
    """

    def __init__(
        self,
        target: int | Command | None,
        reason: str,
        command: Command | None = None,
        sought: Any = None,
    ) -> None:
        super().__init__(target, reason)
        self.target = target
        self.reason = reason
        self.command = command
        self.sought = sought


class SurveyOver(BaseException):
    """Unwinds a survey where the weights would change."""


class Abort(BaseException):
    """Unwinds the training, because the caller gave it up."""
