"""Bytes of a model by part and storage, and what training takes beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlab.records.sizes import size
from ftlab.views.style import SERIES, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure, SubFigure

    from ftlab.views.model.folding import Kind

PARTS = 7
"""Parts from which on none is opened any more."""

Part = tuple[str, int, int]
"""Name, kind, and how many there are."""


def draw_memory(
    figure: Figure | SubFigure, kinds: Sequence[Kind], sizes: Mapping[str, int]
) -> None:
    """Draw both panels; the largest part is opened until there are enough."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    parts = [part for part in _parts(kinds) if _bytes(kinds, part)]
    names = dict.fromkeys(n for p in parts for n, _ in kinds[p[1]].facts.stored)
    starts = [0.0] * len(parts)
    for name, colour in zip(names, SERIES * len(names), strict=False):
        held = [dict(kinds[k].facts.stored).get(name, 0) * n for _, k, n in parts]
        left.barh(range(len(parts)), held, left=starts, color=colour, label=name)
        starts = [start + each for start, each in zip(starts, held, strict=True)]
    left.set_title("weights and buffers by part", fontsize=8.5, loc="left")
    left.set_yticks(range(len(parts)), [shortened(p[0], 36) for p in parts], fontsize=7)
    _write(left, starts)
    if len(names) > 1:
        left.legend(fontsize=7, frameon=False, loc="lower right")
    right.barh(range(len(sizes)), list(sizes.values()), color=SERIES[2])
    right.set_yticks(range(len(sizes)), list(sizes), fontsize=7)
    right.set_title("training, predicted", fontsize=8.5, loc="left")
    _write(right, list(sizes.values()))


def _write(axis: object, values: Sequence[float]) -> None:
    for at, value in enumerate(values):
        axis.text(value, at, f" {size(value)}", va="center", fontsize=7)  # type: ignore[attr-defined]
    axis.set_xlim(0, 1.25 * max([*values, 1]))  # type: ignore[attr-defined]
    axis.set_xticks([])  # type: ignore[attr-defined]
    axis.invert_yaxis()  # type: ignore[attr-defined]
    axis.spines[["top", "right", "bottom"]].set_visible(False)  # type: ignore[attr-defined]


def _parts(kinds: Sequence[Kind]) -> list[Part]:
    parts: list[Part] = [("model", len(kinds) - 1, 1)]
    while len(parts) < PARTS:
        opened = [part for part in parts if kinds[part[1]].lines]
        if not opened:
            break
        largest = max(opened, key=lambda part: _bytes(kinds, part))
        at = parts.index(largest)
        parts[at : at + 1] = _within(kinds, largest)
    return parts


def _within(kinds: Sequence[Kind], part: Part) -> list[Part]:
    """Return what is in a part, and what is its own as far as it is no part's."""
    name, kind, count = part
    several = f" \u00d7 {count}" if count > 1 else ""
    around = "" if name == "model" else f"{name}{several}." if several else ""
    return [
        (around + line.label, line.kind, count * len(line.names))
        for line in kinds[kind].lines
    ]


def _bytes(kinds: Sequence[Kind], part: Part) -> int:
    return kinds[part[1]].facts.bytes * part[2]
