"""Bytes of a model by part and storage, and what training takes beside them."""

from collections.abc import Mapping, Sequence

from ftlab.records.sizes import size
from ftlab.views.drawn import Axes, Canvas
from ftlab.views.model.folding import Kind
from ftlab.views.style import SERIES, shortened

PARTS = 7
"""Parts from which on none is opened any more: name, kind, and how many there are."""

Part = tuple[str, int, int]


def draw_memory(
    figure: Canvas, kinds: Sequence[Kind], sizes: Mapping[str, int]
) -> None:
    """Draw both panels; the largest part is opened until there are enough."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    parts = [part for part in _parts(kinds) if _bytes(kinds, part)]
    stored = [dict(kinds[kind].facts.stored) for _, kind, _ in parts]
    ways = dict.fromkeys(name for each in stored for name in each)
    each = [(kept, count) for kept, (_, _, count) in zip(stored, parts, strict=True)]
    held = {way: [kept.get(way, 0) * count for kept, count in each] for way in ways}
    _draw(left, "weights and buffers by part", [part[0] for part in parts], held)
    if len(held) > 1:
        left.legend(fontsize=7, frameon=False, loc="lower right")
    _draw(right, "training, predicted", list(sizes), {"": list(sizes.values())})


def _draw(
    axis: Axes, title: str, names: Sequence[str], held: Mapping[str, Sequence[int]]
) -> None:
    ends = [0] * len(names)
    for (way, values), colour in zip(held.items(), SERIES * len(held), strict=False):
        axis.barh(range(len(names)), values, left=ends, color=colour, label=way)
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    for at, end in enumerate(ends):
        axis.text(end, at, f" {size(end)}", va="center", fontsize=7)
    axis.set_title(title, fontsize=8.5, loc="left")
    axis.set_yticks(range(len(names)), [shortened(e, 36) for e in names], fontsize=7)
    axis.set(xlim=(0, 1.25 * max([*ends, 1])), xticks=[])
    axis.invert_yaxis()
    axis.spines[["top", "right", "bottom"]].set_visible(False)


def _parts(kinds: Sequence[Kind]) -> list[Part]:
    parts: list[Part] = [("", len(kinds) - 1, 1)]
    while len(parts) < PARTS and (opened := [p for p in parts if kinds[p[1]].lines]):
        name, kind, count = largest = max(opened, key=lambda p: _bytes(kinds, p))
        around = f"{name} \u00d7 {count}." if count > 1 else ""
        at = parts.index(largest)
        parts[at : at + 1] = [
            (around + line.label, line.kind, count * len(line.names))
            for line in kinds[kind].lines
        ]
    return [(name or "model", kind, count) for name, kind, count in parts]


def _bytes(kinds: Sequence[Kind], part: Part) -> int:
    return kinds[part[1]].facts.bytes * part[2]
