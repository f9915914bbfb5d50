"""The live grid: rows to choose, tokens to filter, search, hover and pin.

The page holds a few windows of rows and draws the lines that are on screen. Rows, or
stretches of a long row, that it does not hold are asked for by message and come back
in the trait ``answer``; what was sent at first works without a kernel.
"""

from __future__ import annotations

import json
from typing import Any

import anywidget
import numpy as np
import traitlets

from ftlab.views.front_end import front_end
from ftlab.views.style import number
from ftlab.views.tokens.token_codes import WIDTH, window, windows
from ftlab.views.tokens.token_words import describe, remark_lines, visible_name
from ftlab.views.tokens.tokens_summary import Sample, TokenSummary

HIGH = 95
"""Losses above this percentile of a row's are called high."""
ROWS = 256
"""Rows that can be chosen in the page; the table has all."""
SPEC = 50_000
"""Bytes that names and words of these rows may take."""
TOTAL = 285_000
"""Bytes that are sent before anyone asks."""


class TokenWidget(anywidget.AnyWidget):
    """Shows rows of tokens."""

    _esm = front_end("tokens/token_lines.js", "tokens/tokens.js")
    _css = front_end("style.css", "tokens/tokens.css")
    spec: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)
    windows: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)
    answer: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, summary: TokenSummary) -> None:
        self._summary = summary
        spec = _spec(summary)
        room = TOTAL - len(json.dumps(spec))
        super().__init__(spec=spec, windows=windows(summary, room))
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return f"TokenWidget({len(self._summary.samples)} rows)"

    def _hear(self, _: Any, content: Any, __: Any) -> None:
        """Answer what a page asks for; what makes no sense is left alone."""
        if not isinstance(content, dict):
            return
        row, start = content.get("row"), content.get("start")
        samples = self._summary.samples
        if not (isinstance(row, int) and 0 <= row < len(samples)):
            return
        if isinstance(start, int) and 0 <= start < max(1, len(samples[row].row.ids)):
            self.answer = {
                "name": f"{row} {start}",
                **window(self._summary, row, start),
            }


def _spec(summary: TokenSummary) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    room = SPEC
    for sample in summary.samples[:ROWS]:
        rows.append(_row(sample))
        room -= len(json.dumps(rows[-1]))
        if room < 0:
            break
    return {
        "rows": rows,
        "hidden": len(summary.samples) - len(rows),
        "faults": [each[:400] for each in remark_lines(summary.faults)],
        "remarks": [each[:400] for each in remark_lines(summary.batch.remarks)],
        "width": WIDTH,
    }


def _row(sample: Sample) -> dict[str, Any]:
    losses = sample.row.losses
    known = losses[np.isfinite(losses)] if losses is not None else np.zeros(0)
    high = float(np.percentile(known, HIGH)) if len(known) else None
    return {
        "name": visible_name(sample)[:80],
        "words": describe(sample)[:600],
        "length": len(sample.row.ids),
        "roles": [role[:60] for role in list(sample.roles)[:20]],
        "high": high,
        "high words": "" if high is None else f"loss above {number(high)}",
    }
