"""One conversation in several templates side by side, and training beside serving."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ftlab.records.token_row import Piece, TokenBatch, TokenRow
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.front_end import style_sheet
from ftlab.views.style import count
from ftlab.views.tokens.stretches import as_opening, stretches_of
from ftlab.views.tokens.token_figure import SHOWN, draw_tokens
from ftlab.views.tokens.token_words import describe, remark_lines, visible_name
from ftlab.views.tokens.tokens_summary import TokenSummary, plain, summarise_tokens
from ftlab.views.view import View, widget_mode

LINES, WIDE = 60, 34
"""Stretches that text and HTML show, and characters of each in a text."""
AROUND = 3
"""Tokens, or stretches, before a difference that are shown with it."""
LONGEST = 600
"""Characters of a stretch that HTML shows: the first and the last ones."""


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """Rows cut into stretches that go together.

    Attributes
    ----------
    stretches
        What each is (``"user, header"``), and its text by row; ``None`` where a row has
        none.
    same
        By stretch, whether the rows agree; what a prompt leaves to be written does.
    first
        By row, the first position at which its ids differ from the first row's;
        ``None`` where they do not.
    """

    summary: TokenSummary
    stretches: tuple[tuple[str, tuple[str | None, ...]], ...]
    same: tuple[bool, ...]
    first: tuple[int | None, ...]


class SideBySideView(View[SideBySide]):
    """The same conversation as several templates write it.

    Parameters
    ----------
    rows
        By name of the template; or what is trained, and then what is served.
    pieces
        The vocabulary that they use.
    serving
        Whether the second row is a prompt that is served: it should be what the first
        one begins with.
    remarks
        What is worth saying beside them.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.token_row import Piece, TokenRow
    >>> from ftlab.views.tokens.side_by_side import SideBySideView
    >>> pieces = {at: Piece(one, one) for at, one in enumerate(("<u>", "Hi", "<a>"))}
    >>> rows = {"training": TokenRow(np.array([0, 1, 2]))}
    >>> rows["serving"] = TokenRow(np.array([0, 1]))
    >>> print(repr(SideBySideView(rows, pieces, serving=True)).splitlines()[-1])
    training begins with all of serving
    """

    title = "Templates"

    def __init__(
        self,
        rows: Mapping[str, TokenRow],
        pieces: Mapping[int, Piece],
        *,
        serving: bool = False,
        special: Mapping[str, frozenset[int]] | None = None,
        remarks: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        named = tuple(replace(row, source=name) for name, row in rows.items())
        if serving:
            named = (named[0], as_opening(named[1], named[0]), *named[2:])
        self._batch = TokenBatch(named, pieces, special or {}, remarks)
        self._serving = serving

    def _summarise(self) -> SideBySide:
        summary = summarise_tokens(self._batch)
        rows = self._batch.rows
        first = tuple(_difference(rows[0].ids, row.ids) for row in rows)
        stretches = stretches_of(summary)
        same = tuple(
            len(set(texts)) == 1 or (self._serving and texts[1] is None)
            for _, texts in stretches
        )
        return SideBySide(summary, stretches, same, first)

    def _table(self, summary: SideBySide) -> DataFrame:
        import pandas as pd

        names = [visible_name(each) for each in summary.summary.samples]
        lines = [[what, *texts] for what, texts in summary.stretches]
        table = pd.DataFrame(lines, columns=["stretch", *names], dtype=object)
        table["same"] = list(summary.same)
        return table

    def size_of(self, summary: SideBySide) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 1.3 + 0.3 * min(len(summary.summary.samples), SHOWN)

    def draw_on(self, figure: Canvas, summary: SideBySide) -> None:
        """Draw a bar for each template."""
        draw_tokens(figure, summary.summary)

    def _text(self, summary: SideBySide) -> str:
        samples = summary.summary.samples
        lines = [f"Tokens: one conversation, {count(len(samples), 'row')} side by side"]
        lines += [f"{visible_name(each)}: {describe(each)}" for each in samples]
        lines += _columns(summary)
        lines += self.differences(summary)
        return "\n".join([*lines, *remark_lines(self._batch.remarks)])

    def differences(self, summary: SideBySide) -> list[str]:
        """Say for each row where it first differs from the first one."""
        samples = summary.summary.samples
        said = []
        for at, sample in enumerate(samples[1:], 1):
            spot, name = summary.first[at], visible_name(sample)
            other = visible_name(samples[0])
            ends = self._serving and spot == len(sample.row.ids)
            if ends:
                said.append(f"{other} begins with all of {name}")
            elif spot is None:
                said.append(f"{name} has the same tokens as {other}")
            else:
                here, there = (_near(summary, n, spot) for n in (0, at))
                said.append(
                    f"first difference at position {spot:,}: {other} has {here}, "
                    f"{name} has {there}"
                )
        return said

    def _make_widget(self) -> Any:
        import ipywidgets

        return ipywidgets.HTML(self._page())

    def _make_picture(self) -> Any:
        return self._make_widget()

    def _page(self) -> str:
        summary = self.summary
        samples = summary.summary.samples
        heads = "".join(f"<th>{html.escape(visible_name(s))}</th>" for s in samples)
        said = [*self.differences(summary), *remark_lines(self._batch.remarks)]
        below = [f"{visible_name(each)}: {describe(each)}" for each in samples]
        before, after = _hidden(summary)
        lines, marked = [], False
        for what, texts, same in _shown(summary):
            note = "" if same else "≠" if marked else "≠ first difference"
            marked = marked or not same
            cells = "".join(f"<td>{_cell(text)}</td>" for text in texts)
            kind = "" if same else ' class="ftlab-differs"'
            lines.append(
                f"<tr{kind}><th>{html.escape(what)} <i>{note}</i></th>{cells}</tr>"
            )
        table = (
            '<div class="ftlab-scrolled"><table class="ftlab-beside">'
            f"<tr><th></th>{heads}</tr>{''.join(lines)}</table></div>"
        )
        page = [*_paragraphs(said), *_paragraphs(before), table]
        page += [*_paragraphs(after), *_paragraphs(below)]
        return (
            f'<style>{style_sheet()}</style><div class="ftlab-t">{"".join(page)}</div>'
        )

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if widget_mode() == "static":
            return {"text/plain": repr(self), "text/html": self._page()}, {}
        return super()._repr_mimebundle_(include, exclude)


def _shown(
    summary: SideBySide,
) -> list[tuple[str, tuple[str | None, ...], bool]]:
    """Return the stretches that are shown: the first ones, or about a difference."""
    start = _start(summary)
    pairs = zip(summary.stretches, summary.same, strict=True)
    return [(what, texts, same) for (what, texts), same in pairs][start:][:LINES]


def _start(summary: SideBySide) -> int:
    same = summary.same
    first = same.index(False) if False in same else 0
    return first - AROUND if first >= LINES else 0


def _hidden(summary: SideBySide) -> tuple[list[str], list[str]]:
    """Say how many stretches stand before and behind those that are shown."""
    start = _start(summary)
    rest = len(summary.stretches) - start - LINES
    before = [f"... {count(start, 'line')} before these, all equal"]
    return (
        before if start else [],
        [f"... and {count(rest, 'more line')}"] if rest > 0 else [],
    )


def _paragraphs(lines: list[str]) -> list[str]:
    return [f"<p>{html.escape(each)}</p>" for each in lines]


def _cell(text: str | None) -> str:
    if text is None:
        return "<i>nothing</i>"
    if len(text) <= LONGEST:
        return f"<bdi>{html.escape(text)}</bdi>"
    kept = LONGEST // 2
    first, last = html.escape(text[:kept]), html.escape(text[-kept:])
    left_out = f"{len(text) - 2 * kept:,} characters"
    return f"<bdi>{first}</bdi> <i>... {left_out} ...</i> <bdi>{last}</bdi>"


def _difference(some: Any, others: Any) -> int | None:
    length = min(len(some), len(others))
    unlike = np.flatnonzero(some[:length] != others[:length])
    if len(unlike):
        return int(unlike[0])
    return None if len(some) == len(others) else length


def _near(summary: SideBySide, number: int, spot: int) -> str:
    row = summary.summary.batch.rows[number]
    text = summary.summary.stretch(row, max(0, spot - AROUND), spot + AROUND)
    end = " (its end)" if spot >= len(row.ids) else ""
    return f'"{plain(text)}"{end}'


def _columns(summary: SideBySide) -> list[str]:
    """Write the stretches as columns by row; the first that differs is marked."""
    if not summary.stretches:
        return []
    names = [visible_name(each)[:WIDE] for each in summary.summary.samples]
    lines = [("", *names)]
    for what, texts, same in _shown(summary):
        mark = "  " if same else "≠ "
        cells = ("-" if text is None else plain(text, WIDE) for text in texts)
        lines.append((mark + what, *cells))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    said = [
        "  ".join(f"{cell:<{wide}}" for cell, wide in zip(line, widths, strict=True))
        for line in lines
    ]
    before, after = _hidden(summary)
    return [*before, *(each.rstrip() for each in said), *after]
