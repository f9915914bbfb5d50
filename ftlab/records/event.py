"""What happened in words: findings, pauses, warnings, the end of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EventKind = Literal[
    "finding",
    "not-checked",
    "pause",
    "resume",
    "abort",
    "warning",
    "note",
    "sample",
    "answers",
    "origin",
    "rows",
    "turns",
    "pairs",
    "decoder",
    "tokenizer",
    "tokenizer-files",
    "attention",
    "batch",
    "loader",
    "dataset",
    "memory",
    "time",
    "context",
    "checkpoint",
    "end",
]


@dataclass(frozen=True, slots=True)
class Event:
    """One line of ``events.jsonl``.

    Attributes
    ----------
    detail
        The finding's fields, the pause's place, the error that ended the run: values
        that JSON can hold.
    """

    kind: EventKind
    step: int
    time: float
    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)
