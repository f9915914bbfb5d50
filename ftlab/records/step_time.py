"""Where the time of steps goes: shares by phase, and the lines that take it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Phase = Literal[
    "data",
    "forward",
    "backward",
    "optimizer",
    "logging",
    "evaluation",
    "saving",
    "other",
    "ftlab",
]
"""What a step's time goes to; ``"optimizer"`` holds clipping and schedules too."""

PHASES: tuple[Phase, ...] = get_args(Phase)


def column_of(phase: str) -> str:
    """Return the column of the steps that holds a phase's seconds.

    Examples
    --------
    >>> from ftlab.records.step_time import column_of
    >>> column_of("data")
    'time_data'
    """
    return f"time_{phase}"


@dataclass(frozen=True, slots=True)
class HotPlace:
    """A line of user code, and how often the training thread was found there.

    Attributes
    ----------
    phase
        Of the step.
    place
        ``"train.py:42"``, or ``"cell 3, line 5"``.
    function
        The user's function; ``""`` at the top of a script.
    line
        Its text.
    library
        What it had called, of a package: ``"tokenizers Tokenizer.encode"``.
    samples
        How often.
    """

    phase: str
    place: str
    function: str
    line: str
    library: str
    samples: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """What looking at the training thread's stack, again and again, has shown.

    Attributes
    ----------
    samples
        How often it was looked.
    places
        The most frequent ones.
    workers
        Worker processes of the loader that fed the training; -1 where no loader did.
    anomaly
        ``torch.autograd.set_detect_anomaly(True)`` was on.
    """

    samples: int
    places: tuple[HotPlace, ...]
    workers: int = -1
    anomaly: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Sampled":
        """Read what `as_json` has written."""
        places = tuple(HotPlace(**each) for each in values["places"])
        return cls(**{**values, "places": places})
