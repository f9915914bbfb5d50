"""A setting that was on where a thread or task was started, and not within it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LostContext:
    """What a thread, a task or a worker does without, or has against its will.

    Attributes
    ----------
    kind, name
        ``"thread"``, ``"call in a thread pool"``, ``"task"`` or ``"loader's worker"``,
        and what it is called.
    what
        ``"autocast"``, ``"gradients"``, ``"CUDA device"``, ..., or ``"variable"``.
    was, now
        In words, where it was started, or up to its latest await, and when the model
        was called.
    started, called
        The user's lines.
    holder
        The task that has left a block open across an await; empty where there is none.
    """

    kind: str
    name: str
    what: str
    was: str
    now: str
    started: str
    called: str
    holder: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "LostContext":
        """Read what `as_json` has written."""
        return cls(**values)
