"""What the caller may ask of a paused step, and how the worker unwinds for it.

`Rewind` and `Abort` derive from BaseException, so that ``except Exception`` in the
user's step lets them through.
"""

from dataclasses import dataclass
from typing import Literal

from ftlab.records.errors import BadValueError

Unit = Literal["op", "module"]
Verb = Literal["resume", "abort", "step", "back"]

_VERBS = ("resume", "abort", "step", "back")
_UNITS = ("op", "module")


@dataclass(frozen=True, slots=True)
class Command:
    """One command to a paused run.

    Attributes
    ----------
    verb
        ``resume`` lets training go on, ``abort`` ends it, ``step`` and ``back`` move
        within the replayed step.
    unit
        What ``step`` and ``back`` count: operations, or stays in one module.
    count
        How many of them.

    Examples
    --------
    >>> from ftlab.replay.control import Command
    >>> Command.parse("step module")
    Command(verb='step', unit='module', count=1)
    >>> Command.parse("stop")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: 'stop' is no command; allowed are 'resume', \
'abort', 'step', 'back', each of the last two with 'op' or 'module' after it.
    """

    verb: Verb
    unit: Unit = "op"
    count: int = 1

    @classmethod
    def parse(cls, text: "str | Command") -> "Command":
        """Read ``"resume"``, ``"abort"``, ``"step op"``, ``"back module"``..."""
        if isinstance(text, Command):
            return text
        words = str(text).split()
        verb = words[0] if words else ""
        unit = words[1] if len(words) > 1 else "op"
        if verb not in _VERBS or unit not in _UNITS or len(words) > 2:
            msg = (
                f"{text!r} is no command; allowed are 'resume', 'abort', 'step', "
                "'back', each of the last two with 'op' or 'module' after it."
            )
            raise BadValueError(msg)
        return cls(verb, unit)  # type: ignore[arg-type]  # both were looked up

    @classmethod
    def move(cls, verb: Literal["step", "back"], unit: str, count: int) -> "Command":
        """Make a checked ``step`` or ``back`` command."""
        if unit not in _UNITS:
            msg = f"{verb}(to={unit!r}): allowed are to='op' and to='module'."
            raise BadValueError(msg)
        if count < 1:
            msg = f"{verb}(count={count!r}): pass a number from 1."
            raise BadValueError(msg)
        return cls(verb, "op" if unit == "op" else "module", count)


class Rewind(BaseException):
    """Unwinds the step to its start.

    Parameters
    ----------
    target
        Index of the op to run to, or a command from the end of the step; ``None``
        looks for the culprit.
    reason
        Why the run will stop there: ``"anomaly"``, ``"step"``, ``"back"``.
    """

    def __init__(self, target: int | Command | None, reason: str) -> None:
        super().__init__(target, reason)
        self.target = target
        self.reason = reason


class SurveyOver(BaseException):
    """Unwinds a survey where the weights would change."""


class Abort(BaseException):
    """Unwinds the training, because the caller gave it up."""
