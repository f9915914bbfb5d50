"""The live mask: rows and kinds to choose, cells to hover, parts to look closer at.

All grids that fit go out with the widget, the worst rows first; the page works without
a kernel. Another row, or a closer look, is asked for by message and comes back in the
trait ``answer``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from ftlab.records.attention import FAULTS, AttentionReport, MaskGrid
from ftlab.views.front_end import front_end
from ftlab.views.masks.mask_colours import BAD, MISSING, SEEN, borders, coded
from ftlab.views.masks.mask_words import (
    MEANING,
    documents_words,
    kind_words,
    row_words,
    worst_first,
)

Part = tuple[tuple[int, int], tuple[int, int]]
"""The queries and the keys of a closer look."""

Closer = Callable[[int, str, Part], "MaskGrid"]

ROOM = 200_000
"""Bytes of grids that are sent with the widget."""
STARTS = 2_000
"""Documents of a row whose borders are sent."""


class MaskWidget(anywidget.AnyWidget):
    """Shows the masks of a batch."""

    _esm = front_end("charts/chart.js", "masks/masks.js")
    _css = front_end("style.css", "masks/masks.css")
    spec: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)
    grids: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)
    answer: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, report: AttentionReport, closer: Closer | None) -> None:
        self._report = report
        self._closer = closer
        self._sure = {each.row: each.sure for each in report.rows}
        super().__init__(spec=_spec(report, closer is not None), grids=_fitting(report))
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return f"MaskWidget({len(self._report.documents)} rows)"

    def _hear(self, _: Any, content: Any, __: Any) -> None:
        """Answer what a page asks for; what makes no sense is left alone."""
        asked = _asked(content, self._report)
        if asked is None:
            return
        row, kind, part = asked
        grid: MaskGrid | None = None
        if part is None:
            found = (
                r.grid for r in self._report.rows if (r.row, r.kind) == (row, kind)
            )
            grid = next(found, None)
        elif self._closer is not None:
            grid = self._closer(row, kind, part)
        if grid is not None:
            name = content.get("name", "")
            sent = coded(grid, sure=self._sure.get(row, True))
            self.answer = {"name": str(name)[:80], "grid": sent}


def _asked(content: Any, report: AttentionReport) -> tuple[int, str, Any] | None:
    if not isinstance(content, dict):
        return None
    row, kind, part = (content.get(name) for name in ("row", "kind", "part"))
    if not isinstance(row, int) or not isinstance(kind, str):
        return None
    if (row, kind) not in {(each.row, each.kind) for each in report.rows}:
        return None
    if part is None:
        return row, kind, None
    return (row, kind, span) if (span := _span(part, report, kind)) else None


def _span(part: Any, report: AttentionReport, kind: str) -> Any:
    """Return a part that lies within the mask, or ``None``."""
    grid = next(each.grid for each in report.rows if each.kind == kind)
    try:
        (top, bottom), (left, right) = part
        inside = (
            grid.queries[0] <= top < bottom <= grid.queries[1]
            and grid.keys[0] <= left < right <= grid.keys[1]
        )
    except (TypeError, ValueError):
        return None
    whole = all(isinstance(at, int) for at in (top, bottom, left, right))
    return ((top, bottom), (left, right)) if inside and whole else None


def _fitting(report: AttentionReport) -> dict[str, Any]:
    """Code the grids that fit, the worst rows first."""
    order = {row: at for at, row in enumerate(worst_first(report))}
    sent, room = {}, ROOM
    for each in sorted(report.rows, key=lambda one: order[one.row]):
        code = coded(each.grid, sure=each.sure)
        room -= len(code["runs"])
        if room < 0:
            break
        sent[f"{each.row} {each.kind}"] = code
    return sent


def _spec(report: AttentionReport, closer: bool) -> dict[str, Any]:
    rows = {}
    for row in worst_first(report):
        documents = report.documents[row]
        marks = borders(documents)
        rows[str(row)] = {
            "documents": documents_words(documents),
            "starts": marks["starts"][:STARTS],
            "padding": marks["padding"][:STARTS],
            "sure": documents.sure,
        }
    return {
        "title": f"Attention of {report.model}",
        "caption": report.implementation,
        "order": worst_first(report),
        "rows": rows,
        "kinds": [{"name": k.name, "words": kind_words(k)} for k in report.kinds],
        "words": {f"{each.row} {each.kind}": row_words(each) for each in report.rows},
        "faults": [MEANING[fault] for fault in FAULTS],
        "colours": {"seen": SEEN, "bad": BAD, "missing": MISSING},
        "remarks": list(report.remarks),
        "closer": closer,
    }
