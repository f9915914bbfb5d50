"""Layers that IA3 scales on the other side than it was designed to."""

from collections.abc import Mapping

from ftlab.rules.reading.module_roles import role_of
from ftlab.rules.reading.wiring import Described, names_of

FIELD = "feedforward_modules"


def wrong_sides(described: Described) -> tuple[list[str], list[str]]:
    """Return the layers that are scaled at their output, and at their input, wrongly.

    IA3 scales keys and values where they come out, and of the feed-forward part what
    goes into its last layer. What PEFT does by default for a kind of model is right.
    Where no name says what a layer is for, it is judged only if the configuration has
    entries of which none matches.
    """
    sides = described.get("rescaled") or {}
    if not sides or sides.get("as_by_default"):
        return [], []
    counts: Mapping[str, int] = (described.get("asked") or {}).get(FIELD) or {}
    missed = bool(counts) and not any(counts.values())
    outside = [
        name
        for name in names_of(sides.get("narrowing"))
        if role_of(name) == "feed-forward" or (missed and not role_of(name))
    ]
    inside = [
        name
        for name in names_of(sides.get("at_input"))
        if role_of(name) == "attention-in"
    ]
    return outside, inside
