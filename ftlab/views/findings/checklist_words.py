"""What items of a checklist say: pairs of a word and a text, and what is open."""

from collections.abc import Iterable
from dataclasses import dataclass

from ftlab.records.checklist import CheckItem, Layer, Status
from ftlab.records.name_words import in_words, listed
from ftlab.views.style import number


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One layer in one line.

    Attributes
    ----------
    label
        ``"error"``, ``"warning"``, ``"not checked"`` or ``"passed"``.
    headline
        The worst that was seen, in words.
    """

    layer: Layer
    status: Status
    label: str
    headline: str
    items: tuple[CheckItem, ...]


@dataclass(frozen=True, slots=True)
class ChecklistSummary:
    """All layers, and the line above them."""

    title: str
    verdict: str
    lines: tuple[LayerLine, ...]

    @property
    def items(self) -> tuple[CheckItem, ...]:
        """All items, layer by layer."""
        return tuple(item for line in self.lines for item in line.items)


def said(item: CheckItem) -> list[tuple[str, str]]:
    """Return what an item says as (word, text): what, why, do, where, measured.

    Of one that passed it is a line, and of one that is noted what to look at too.
    """
    if item.status == "not checked":
        return [(w, t) for w, t in (("what", item.says), ("record", item.fix)) if t]
    if item.status == "passed" and not item.noted:
        return [("what", item.says)]
    lines = [("what", item.says), ("why", item.cause), ("do", item.fix)]
    lines += [("where", where(item)), ("measured", measured(item))]
    return [(word, text) for word, text in lines if text]


def to_check(items: Iterable[CheckItem]) -> list[str]:
    """Return what would let the unchecked ones be checked, each thing once."""
    by_fix: dict[str, list[str]] = {}
    for item in items:
        if item.status == "not checked":
            by_fix.setdefault(item.fix or item.says, []).append(item.name)
    return [f"{fix} ({listed(names)})" for fix, names in by_fix.items()]


def where(item: CheckItem) -> str:
    """Return the places in words, briefly."""
    kinds = dict.fromkeys(place.kind for place in item.places)
    words = []
    for kind in kinds:
        names = [place.name for place in item.places if place.kind == kind]
        text = in_words(names, shown=3)
        words.append(text if text.startswith(f"{kind} ") else f"{kind} {text}")
    return ", ".join(words)


def measured(item: CheckItem) -> str:
    """Return the evidence in words."""
    return ", ".join(f"{name} {_value(value)}" for name, value in item.evidence.items())


def _value(value: float | int | str) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else number(value)
