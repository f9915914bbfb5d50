"""What a watch has seen its batches attend to, for the rules about attention."""

from typing import Any

from ftlab.records.event import Event
from ftlab.rules.reading.samples import without_tokens
from ftlab.rules.rule import Need, Place, Run

NEEDS = Need(
    "attention of the batches",
    "ftlab.watch(...) of a transformers model that is given input_ids",
    lambda run: any(event.kind == "attention" for event in run.whole.events),
    absent=without_tokens,
)
LEAST = 0.001
"""The share of a row's pairs from which on it is told: samples are looked at."""


def looks(run: Run) -> list[Event]:
    """Return what was written down of batches, in its order."""
    return [event for event in run.whole.events if event.kind == "attention"]


def faulty(run: Run, fault: str) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Return step, place and the whole detail of each row with this fault."""
    return [
        (event.step, place, dict(event.detail))
        for event in looks(run)
        for place in event.detail["places"]
        if place["fault"] == fault and place["share"] >= LEAST
    ]


def places(
    found: list[tuple[int, dict[str, Any], dict[str, Any]]],
) -> tuple[Place, ...]:
    """Return the first token of each row that attends to what it must not."""
    named = [
        Place("token", f"{one['query']} of sample {one['row']}") for _, one, _ in found
    ]
    return tuple(dict.fromkeys(named))
