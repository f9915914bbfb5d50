"""A setting that was on where a thread or task was started, and not within it."""

from dataclasses import dataclass


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
