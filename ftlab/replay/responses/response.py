"""One automatic response: to what, after how many times, by doing what."""

import math
from collections.abc import Callable, Container
from dataclasses import dataclass, field

from ftlab.records.errors import BadValueError
from ftlab.records.near import near
from ftlab.replay.breakpoints.breakpoint import Breakpoint, Steps, check_steps

NON_FINITE = ("anomaly", "non-finite loss", "non-finite gradient")
TRIGGERS = (
    *NON_FINITE,
    "breakpoint",
    "failed unscale",
    "tokenizer change",
    "step",
    "time",
)
ACTIONS = (
    "pause",
    "snapshot",
    "skip batch",
    "clip",
    "roll back",
    "float32",
    "stop",
)


@dataclass(eq=False, slots=True)
class Response:
    """An automatic response; made by `Debugger.respond`.

    Attributes
    ----------
    to
        What it responds to, one of `TRIGGERS`, or a breakpoint.
    by
        What it does, one of `ACTIONS`.
    times
        How often in a row that must happen first.
    steps
        How many optimizer steps ``"roll back"`` takes back and ``"float32"`` lasts.
    max_norm
        What ``"clip"`` clips the gradient's norm to.
    at
        The steps that ``"step"`` means.
    seconds
        How often ``"time"`` comes.
    digest
        What ``"tokenizer change"`` compares with; ``""`` for the start of the run.
    enabled
        Whether it counts now.
    given
        How often it has responded.
    """

    to: str | Breakpoint
    by: str
    times: int = 1
    steps: int = 1
    max_norm: float | None = None
    at: Steps | None = None
    seconds: float | None = None
    digest: str = ""
    enabled: bool = True
    given: int = 0
    _in_a_row: int = 0
    _remove: Callable[["Response"], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.to, Breakpoint):
            self.to = _known("to", self.to, TRIGGERS)
        self.by = _known("by", self.by, ACTIONS)
        for name in ("times", "steps"):
            given = getattr(self, name)
            if not isinstance(given, int) or given < 1:
                msg = f"respond({name}={given!r}): pass a whole number from 1."
                raise BadValueError(msg)
        for name in ("max_norm", "seconds"):
            given = getattr(self, name)
            number = isinstance(given, int | float)
            if given is not None and not (number and 0 < given < math.inf):
                msg = f"respond({name}={given!r}): pass a number above 0."
                raise BadValueError(msg)
        check_steps("respond(at", self.at)
        if self.times > 1 and self.to in ("step", "time"):
            msg = (
                f"respond({self.to!r}, times={self.times}): this can never happen in a "
                "row."
            )
            raise BadValueError(msg)
        self._need("clip", self.by, "max_norm", "1.0")
        self._need("step", self.to, "at", "range(0, 10_000, 500)")
        self._need("time", self.to, "seconds", "3600")

    def _need(self, word: str, given: object, option: str, example: str) -> None:
        if given == word and getattr(self, option) is None:
            msg = f"respond({word!r}) needs {option}=, for example {option}={example}."
            raise BadValueError(msg)

    @property
    def trigger(self) -> str:
        """What it responds to, in a word of `TRIGGERS`."""
        return self.to if isinstance(self.to, str) else "breakpoint"

    def means(self, triggers: Container[str], point: Breakpoint | None) -> bool:
        """Say whether it responds to one of ``triggers``, or to a breakpoint's hit."""
        if not self.enabled or self.trigger not in triggers:
            return False
        return isinstance(self.to, str) or self.to is point

    def counts(self) -> bool:
        """Count one more time in a row; say whether it is enough."""
        self._in_a_row += 1
        return self._in_a_row >= self.times

    def calm(self) -> None:
        """Begin to count anew: all was well."""
        self._in_a_row = 0

    def remove(self) -> None:
        """Take it out of its debugger; may be called again."""
        if self._remove is not None:
            self._remove(self)

    def __repr__(self) -> str:
        to = self.to if isinstance(self.to, str) else repr(self.to)
        times = f" {self.times} times in a row" if self.times > 1 else ""
        more = [] if self.enabled else ["off"]
        more += [f"given {self.given} x"] if self.given else []
        return f"Response({', '.join([f'{to}{times}: {self.by}', *more])})"


def _known(option: str, given: str, allowed: tuple[str, ...]) -> str:
    by_word = {_letters(each): each for each in allowed}
    found = by_word.get(_letters(str(given)))
    if found is None:
        msg = (
            f"respond({option}={given!r}): no such option; {near(str(given), allowed)}."
        )
        raise BadValueError(msg)
    return found


def _letters(word: str) -> str:
    return "".join(c for c in word.casefold() if c.isalnum())
