"""A dataset as HTML: every word of it is escaped."""

import html

from ftlab.records.data_scan import DataIssue, DataScan, Lengths
from ftlab.views.data.data_figure import length_bins
from ftlab.views.data.data_words import found_words, head_words, length_words
from ftlab.views.front_end import style_sheet
from ftlab.views.style import SERIES, count

SHOWN = 20
"""Places of each kind that the page holds."""

OPEN = 1
"""Kinds that are unfolded, of the worst ones."""


def data_html(scan: DataScan) -> str:
    """Return what was found as one HTML fragment."""
    parts = [
        f"<style>{style_sheet()}</style>",
        '<div class="ftlab-f"><div class="ftlab-p">',
        f"<p><b>{html.escape(head_words(scan))}</b>: {found_words(scan)}</p>",
        _bars(scan.lengths),
        f"<p>Lengths in {scan.lengths.unit}: {html.escape(length_words(scan))}</p>",
        "</div>",
    ]
    parts += [_issue(issue, at < OPEN) for at, issue in enumerate(scan.issues)]
    for each in scan.not_checked:
        parts.append(f"<p>Not checked: {html.escape(each)}</p>")
    return "".join([*parts, "</div>"])


def _bars(known: Lengths) -> str:
    borders, rows = length_bins(known)
    highest = max(int(rows.max()), 1)
    bars = []
    for start, end, number in zip(borders, borders[1:], rows.tolist(), strict=False):
        over = known.limit and start >= known.limit
        tall = 100 * number / highest
        said = f"{number:,} rows, {start:,.0f} to {end:,.0f} {known.unit}"
        bars.append(
            f'<i title="{said}" style="height:{tall:.1f}%;'
            f'background:{SERIES[1] if over else SERIES[0]}"></i>'
        )
    return (
        '<div class="ftlab-p-hist"><div>'
        f'<div class="ftlab-p-bars">{"".join(bars)}</div>'
        f'<div class="ftlab-p-ends"><span>0</span><span>{borders[-1]:,.0f} '
        f"{known.unit}</span></div></div></div>"
    )


def _issue(issue: DataIssue, opened: bool) -> str:
    label = issue.severity.label
    head = (
        f'<span class="ftlab-what">{html.escape(issue.message)}</span> '
        f'<span class="ftlab-code">{label} {issue.code} {issue.name}</span>'
    )
    where = "".join(f"<div>{html.escape(repr(s))}</div>" for s in issue.spots[:SHOWN])
    rest = issue.rows - min(SHOWN, len(issue.spots))
    more = f"<div>and {count(rest, 'more row')}</div>" if rest > 0 else ""
    shown = " open" if opened else ""
    return (
        f'<details class="ftlab-{label}"{shown}><summary>{head}</summary><dl>'
        f"<dt>why</dt><dd>{html.escape(issue.cause)}</dd>"
        f'<dt>do this</dt><dd class="ftlab-do">{html.escape(issue.fix)}</dd>'
        f"<dt>where</dt><dd>{where}{more}</dd></dl></details>"
    )
