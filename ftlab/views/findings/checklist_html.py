"""A checklist as HTML: seven rows, the failed ones unfolded; every word is escaped."""

import functools
import html

from ftlab.records.checklist import CheckItem, Status
from ftlab.views.findings.checklist_words import ChecklistSummary, LayerLine, said
from ftlab.views.front_end import front_end

MARKS: dict[Status, str] = {"failed": "✕", "not checked": "?", "passed": "✓"}
WORDS = {"record": "to check it", "do": "do this", "measured": "measured"}


@functools.cache
def style_sheet() -> str:
    """Return the rules for checklists."""
    return front_end("findings/checklist.css")


def checklist_html(summary: ChecklistSummary) -> str:
    """Return a checklist as one HTML fragment."""
    bad = any(line.status == "failed" for line in summary.lines)
    rows = "".join(map(_layer, summary.lines))
    return (
        f"<style>{style_sheet()}</style>"
        f'<div class="ftlab-c"><div class="ftlab-c-head '
        f'{"ftlab-c-error" if bad else "ftlab-c-passed"}">'
        f"<b>{html.escape(summary.verdict)}</b>"
        f"<span>{html.escape(summary.title)}</span></div>"
        f"{_overview(summary) if bad else ''}{rows}</div>"
    )


def _overview(summary: ChecklistSummary) -> str:
    """Name all layers in one line: unfolded ones push the others off the screen."""
    chips = "".join(
        f'<span class="{_kind(line.label)}">{_mark(line.status)}{line.layer}</span>'
        for line in summary.lines
    )
    return f'<div class="ftlab-c-all">{chips}</div>'


def _mark(status: Status) -> str:
    return f'<i class="ftlab-c-mark" title="{status}">{MARKS[status]}</i>'


def _layer(line: LayerLine) -> str:
    head = (
        f'{_mark(line.status)}<b class="ftlab-c-layer">{line.layer}</b>'
        f'<span class="ftlab-c-says">{html.escape(line.headline)}</span>'
    )
    bad = [item for item in line.items if item.status == "failed"]
    rest = [item for item in line.items if item.status != "failed"]
    shown = " open" if bad else ""
    items = "".join(_item(item, line.headline) for item in bad)
    others = "".join(_item(item) for item in rest)
    if bad and rest:
        others = (
            f"<details><summary>{len(rest)} more in this layer</summary>"
            f"{others}</details>"
        )
    return (
        f'<details class="{_kind(line.label)}"{shown}><summary>{head}</summary>'
        f"<div>{items}{others}</div></details>"
    )


def _item(item: CheckItem, headline: str = "") -> str:
    code = f' <span class="ftlab-c-code">{html.escape(item.code)}</span>'
    head = (
        f"{_mark(item.status)}<b>{html.escape(item.name)}</b>"
        f"{code if item.code else ''}"
    )
    if item.status == "passed" and not item.noted:
        says = f"<span>{html.escape(item.says)}</span>"
        return f'<div class="ftlab-c-item {_kind(item.label)}">{head}{says}</div>'
    rows = "".join(
        f"<dt>{WORDS.get(word, word)}</dt>"
        f'<dd class="ftlab-c-{word}">{html.escape(text)}</dd>'
        for word, text in said(item)
        if (word, text) != ("what", headline)  # it stands in the line above
    )
    return f'<div class="ftlab-c-item {_kind(item.label)}">{head}</div><dl>{rows}</dl>'


def _kind(label: str) -> str:
    return "ftlab-c-" + label.replace(" ", "-")
