"""Where the texts of messages stand in a rendering, whitespace and tags included."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ftlab.probes.templates.marks import Found, Marker, Plan
from ftlab.records.token_row import Part


@dataclass(frozen=True, slots=True)
class Own:
    """A stretch of a rendering that a message holds."""

    start: int
    end: int
    message: int
    part: Part


def owned(
    text: str, found: Sequence[Found], bare: tuple[str, list[Found]] | None
) -> list[Own]:
    """Return what messages own: the marked stretches, and what they hold around these.

    Parameters
    ----------
    bare
        The same conversation without outer whitespace: what is then gone from between
        two texts was theirs, what stays is the template's.
    """
    found = sorted(found, key=lambda f: (f.start, f.end))
    starts, ends = [f.start for f in found], [f.end for f in found]
    gaps = _bare_gaps(found, bare)
    for i in range(len(found) + 1):
        left = found[i - 1].stretch if i else None
        right = found[i].stretch if i < len(found) else None
        low, high = (ends[i - 1] if i else 0), (starts[i] if right else len(text))
        gap = text[low:high]
        after = left.after if left else ""
        before = right.before if right else ""
        if left and right and left.message == right.message and not right.first:
            if gap == before and left.part == "reasoning":
                ends[i - 1] = high
            elif gap == before:
                starts[i] = low
            continue
        taken = _taken(gap, after, before, gaps[i] if gaps else None)
        if left:
            ends[i - 1] += taken[0]
        if right:
            starts[i] -= taken[1]
    return [
        Own(a, b, f.stretch.message, f.stretch.part)
        for a, b, f in zip(starts, ends, found, strict=True)
    ]


def _bare_gaps(
    found: Sequence[Found], bare: tuple[str, list[Found]] | None
) -> list[str] | None:
    """Return what stands between the same texts in the rendering without whitespace."""
    if bare is None:
        return None
    text, others = bare
    others = sorted(others, key=lambda f: (f.start, f.end))
    same = [(f.stretch.message, f.stretch.text) for f in found]
    if same != [(f.stretch.message, f.stretch.text) for f in others]:
        return None
    lows = [0, *(f.end for f in others)]
    highs = [*(f.start for f in others), len(text)]
    return [text[a:b] for a, b in zip(lows, highs, strict=True)]


def _taken(gap: str, after: str, before: str, bare: str | None) -> tuple[int, int]:
    """Return how many characters of a gap belong to the texts on its left and right."""
    ends = [len(after), len(after.rstrip()), len(after) - len(after.lstrip()), 0]
    starts = [len(before), len(before.lstrip()), len(before) - len(before.rstrip()), 0]
    for a in sorted(set(ends), reverse=True):
        for b in sorted(set(starts), reverse=True):
            mine = after[:a], before[len(before) - b :]
            if a + b > len(gap) or not _frames(gap, *mine):
                continue
            # Without outer whitespace, tags and what is behind them are still there.
            left = after.rstrip() if a == len(after) else after[:a]
            right = before.lstrip() if b == len(before) else before[len(before) - b :]
            expected = left + gap[a : len(gap) - b] + right
            if bare is None or expected == bare:
                return a, b
    return 0, 0


def _frames(gap: str, left: str, right: str) -> bool:
    return gap.startswith(left) and gap.endswith(right)


def in_order(messages: Sequence[Mapping[str, Any]], text: str) -> list[Own]:
    """Search the texts one behind the other, where marks have proven nothing."""
    marker = Marker(Plan(empty=False))
    marker.marked(messages)
    return list(_searched(marker, text))


def _searched(marker: Marker, text: str) -> Iterator[Own]:
    place = 0
    for stretch in marker.stretches:
        start = text.find(stretch.text, place)
        if start >= 0:
            place = start + len(stretch.text)
            yield Own(start, place, stretch.message, stretch.part)
