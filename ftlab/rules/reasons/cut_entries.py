"""Entries of a configuration that reach less, or more, than what they name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ftlab.records.finding import Severity
from ftlab.rules.reading.wiring import Described, count_of, names_of
from ftlab.rules.reasons.target_verdicts import misspelled

_EXPRESSION = (
    "A regular expression must match the whole name of a module, and an entry of a "
    "list its end. {entry!r} only matches a part of names."
)

FEW = 2
"""How many matched layers there are to each missed one, at least, for a warning.

Nobody leaves the last few blocks out by their number of digits.
"""


@dataclass(frozen=True, slots=True)
class Cut:
    """An entry, what it missed or took along, and what to do about it.

    Attributes
    ----------
    words
        What the layers are, after their number: "layers without an adapter have ...".
    count, names
        How many layers, and the first of them.
    """

    field: str
    reason: str
    severity: Severity
    words: str
    cause: str
    fix: str
    count: int = 0
    names: tuple[str, ...] = ()


def cut_entries(described: Described) -> Iterator[Cut]:
    """Yield the entries of one adapter's configuration that miss what they name."""
    yield from _parents(described.get("unheeded") or {})
    cut: Mapping[str, Any] = described.get("cut") or {}
    yield from _parts(cut)
    asked = (described.get("asked") or {}).get("target_modules") or {}
    for entry, found in (cut.get("digits") or {}).items():
        few = FEW * count_of(found) <= int(asked.get(entry, 0))
        yield _made(
            ("target_modules", "one-digit", Severity.WARNING if few else Severity.INFO),
            f"layers of numbers from 10 on are not matched by {entry!r}",
            r"\d and [0-9] are one digit: of the numbered blocks they take the first "
            "ten.",
            r"\d+ for numbers of any length; layers_to_transform=list(range(10)) for "
            "the first ten on purpose.",
            found,
        )
    yield from _longer_numbers(described.get("beyond") or {})
    for entry, found in (cut.get("modules_to_save") or {}).items():
        yield _made(
            ("modules_to_save", "name-of-more", Severity.INFO),
            f"modules that only end with the letters {entry!r} are trained as well",
            "modules_to_save compares the ends of names, not whole names.",
            f"Include the path before it ('model.{entry}'), if they are not intended.",
            found,
        )
    yield from _misspelled(described)


def _longer_numbers(beyond: Mapping[str, Mapping[str, Any]]) -> Iterator[Cut]:
    for field, entries in beyond.items():
        for entry, found in entries.items():
            yield _made(
                (field, "longer-number", Severity.WARNING),
                f"layers whose number only begins with the one in {entry!r} are "
                "matched as well",
                "A regular expression must say where a number ends: otherwise what "
                "follows matches the remaining digits.",
                r"A dot that is a dot behind the number, as in r'layers\.1\..*'.",
                found,
            )


def _parents(unheeded: Mapping[str, Any]) -> Iterator[Cut]:
    for entry, inside in unheeded.items():
        yield _made(
            ("exclude_modules", "exclude_modules", Severity.WARNING),
            f"adapted layers are inside {entry!r}",
            "exclude_modules compares whole names and their ends; a parent's name "
            "excludes none of its children.",
            f'exclude_modules=r".*{entry}.*" (a regular expression).',
            inside,
        )


def _parts(cut: Mapping[str, Any]) -> Iterator[Cut]:
    for entry, found in (cut.get("exclude_modules") or {}).items():
        yield _made(
            ("exclude_modules", "part-of-names", Severity.WARNING),
            f"adapted layers have {entry!r} in their names, which excludes nothing",
            _EXPRESSION.format(entry=entry),
            f'exclude_modules=r".*({entry}).*", as one expression.',
            found,
        )
    for entry, found in (cut.get("target_modules") or {}).items():
        yield _made(
            ("target_modules", "part-of-names", Severity.WARNING),
            f"layers without an adapter have {entry!r} in their names, which matches "
            "nothing",
            _EXPRESSION.format(entry=entry),
            f'target_modules=r".*({entry})", as one expression; alternatives in one '
            r"group: r'.*\.(a|b)'.",
            found,
        )


def _misspelled(described: Described) -> Iterator[Cut]:
    """Find exclusions that match nothing and are nearly the name of adapted layers."""
    asked = (described.get("asked") or {}).get("exclude_modules") or {}
    patterns = described.get("patterns") or {}
    ends = {str(pattern).rpartition(".")[2]: str(pattern) for pattern in patterns}
    for entry, count in asked.items():
        near = "" if count else misspelled(entry, ends)
        if near:
            yield Cut(
                "exclude_modules",
                "misspelled",
                Severity.WARNING,
                f"adapted layers are called {near!r}; {entry!r} excludes nothing",
                f"{entry!r} is spelled almost like {near!r}, which has adapters.",
                f"exclude_modules=[{near!r}].",
                int(patterns[ends[near]]),
                (ends[near],),
            )


def _made(
    kind: tuple[str, str, Severity], words: str, cause: str, fix: str, found: Any
) -> Cut:
    return Cut(*kind, words, cause, fix, count_of(found), tuple(names_of(found)))
