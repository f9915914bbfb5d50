"""Parts of a tokenizer, and their changes, in words."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ftlab.records.fingerprint import Change, Fingerprint, Part
from ftlab.views.style import count
from ftlab.views.tokenizers.told import Line

SHORT = 12
"""Digits of a digest that text and page show; ``.digest`` has all."""
SHOWN = 6
"""Entries that a line names."""
LONG = 60
"""Characters of a value that a line shows."""
ENTRIES = ("special tokens", "padding and truncation", "switches")


def part_words(name: str, part: Part) -> str:
    """Say in one line what a part holds.

    Examples
    --------
    >>> from ftlab.records.fingerprint import Part, part_of
    >>> from ftlab.views.tokenizers.fingerprint_words import part_words
    >>> part_words("vocabulary", Part("", 32000))
    '32,000 ids'
    >>> part_words("normaliser", part_of({"type": "Sequence", "of": [{"type": "NFC"}]}))
    'Sequence, NFC'
    """
    if name == "vocabulary":
        return count(part.size, "id")
    if name == "merges":
        return count(part.size, "byte")
    if name == "added tokens":
        return _tokens(part.entries)
    if name == "chat template":
        return _templates(part.entries)
    if name in ENTRIES:
        return _listed(f"{key} {shown(each)}" for key, each in part.entries.items())
    kinds = [json.loads(v) for k, v in part.entries.items() if _is_kind(k)]
    return _listed(map(str, kinds)) or count(part.size, "setting")


def trained_words(found: Fingerprint, trained: Fingerprint) -> str:
    """Say in one line what files hold in place of what was trained with.

    Examples
    --------
    >>> from ftlab.records.fingerprint import Fingerprint, part_of
    >>> from ftlab.views.tokenizers.fingerprint_words import trained_words
    >>> old = Fingerprint("Own", "python", {"switches": part_of({"legacy": True})})
    >>> new = Fingerprint("Own", "python", {"switches": part_of({"legacy": False})})
    >>> trained_words(new, old)
    'a different tokenizer (...) than in these files: switches'
    """
    parts = ", ".join(trained.differing(found))
    digest = trained.digest[:SHORT]
    return f"a different tokenizer ({digest}) than in these files: {parts}"


def trained_line(found: Fingerprint, trained: Fingerprint | None) -> tuple[Line, ...]:
    """Return the line about what was trained with, if it is known."""
    if trained is None:
        return ()
    if trained.digest == found.digest:
        return (Line("=", "trained with", "this tokenizer"),)
    return (Line("≠", "trained with", trained_words(found, trained)),)


def change_words(change: Change) -> str:
    """Say in one line how an entry differs.

    Examples
    --------
    >>> from ftlab.records.fingerprint import Change
    >>> from ftlab.views.tokenizers.fingerprint_words import change_words
    >>> change_words(Change("special tokens", "eos_token", '"</s>"', '""'))
    "eos_token '</s>' against ''"
    >>> change_words(Change("vocabulary", "", "32,000", "32,001"))
    '32,000 ids against 32,001'
    """
    if change.entry:
        sides = (shown(each) if each else "nothing" for each in _unlike(change))
        return f"{change.entry} {' against '.join(sides)}"
    unit = {"vocabulary": " ids", "merges": " bytes"}.get(change.part, "")
    left, right = change.left or "nothing", change.right or "nothing"
    if left == right:
        return f"{left}{unit} on both sides, different ones"
    return f"{left}{unit if change.left else ''} against {right}"


def shown(value: str) -> str:
    """Write a value that is kept as JSON, cut to some length.

    Examples
    --------
    >>> from ftlab.views.tokenizers.fingerprint_words import shown
    >>> shown('"</s>"'), shown('["</s>", "special"]'), shown("null")
    ("'</s>'", "'</s>', special", 'none')
    """
    read: Any = json.loads(value)
    text = {None: "none", True: "on", False: "off"}.get(read) if _is_plain(read) else ""
    if isinstance(read, str):
        text = repr(read)
    elif isinstance(read, list):
        text = ", ".join(map(str, [*map(repr, read[:1]), *read[1:]]))
    text = text or value
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def _is_plain(read: Any) -> bool:
    return read is None or isinstance(read, bool)


def _unlike(change: Change) -> tuple[str, str]:
    """Cut what two long texts have in common at their beginning."""
    left, right = change.left, change.right
    if max(len(left), len(right)) <= LONG or not (left and right):
        return left, right
    some, others = json.loads(left), json.loads(right)
    if not (isinstance(some, str) and isinstance(others, str)):
        return left, right
    pairs = zip(some, others, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs) if a != b), 0)
    at = at or min(len(some), len(others))
    start = max(0, at - LONG // 3)
    head = "…" if start else ""
    return json.dumps(head + some[start:]), json.dumps(head + others[start:])


def _is_kind(key: str) -> bool:
    return key.rsplit(".", 1)[-1] in ("type", "version")


def _tokens(entries: Mapping[str, str]) -> str:
    names = [repr(json.loads(each)[0]) for each in entries.values()]
    return f"{count(len(names), 'token')}: {_listed(names)}"


def _templates(entries: Mapping[str, str]) -> str:
    sizes = {name: len(json.loads(text)) for name, text in entries.items()}
    if list(sizes) == ["default"]:
        return count(sizes["default"], "character")
    return ", ".join(
        f"{name}: {count(size, 'character')}" for name, size in sizes.items()
    )


def _listed(words: Iterable[str]) -> str:
    every = list(words)
    rest = len(every) - SHOWN
    return ", ".join(every[:SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")
