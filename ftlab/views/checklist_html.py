"""A checklist as HTML: seven rows, the failed ones unfolded; every word is escaped."""

from __future__ import annotations

import functools
import html
from pathlib import Path
from typing import TYPE_CHECKING

from ftlab.views.checklist_words import said

if TYPE_CHECKING:
    from ftlab.records.checklist import CheckItem
    from ftlab.views.checklist import ChecklistSummary, LayerLine

MARKS = {"failed": "✕", "not checked": "?", "passed": "✓"}
WORDS = {"record": "to check it", "do": "do this", "measured": "measured"}


@functools.cache
def style_sheet() -> str:
    """Return the rules for checklists."""
    return Path(__file__).with_name("checklist.css").read_text(encoding="utf-8")


def checklist_html(summary: ChecklistSummary) -> str:
    """Return a checklist as one HTML fragment."""
    bad = any(line.status == "failed" for line in summary.lines)
    rows = "".join(map(_layer, summary.lines))
    return (
        f"<style>{style_sheet()}</style>"
        f'<div class="ftlab-c"><div class="ftlab-c-head '
        f'{"ftlab-c-error" if bad else "ftlab-c-passed"}">'
        f"<b>{html.escape(summary.verdict)}</b>"
        f"<span>{html.escape(summary.title)}</span></div>{rows}</div>"
    )


def _layer(line: LayerLine) -> str:
    head = (
        f'<i class="ftlab-c-mark" title="{line.status}">{MARKS[line.status]}</i>'
        f'<b class="ftlab-c-layer">{html.escape(line.layer)}</b>'
        f'<span class="ftlab-c-says">{html.escape(line.headline)}</span>'
    )
    shown = " open" if line.status == "failed" else ""
    items = "".join(map(_item, line.items))
    return (
        f'<details class="{_kind(line.label)}"{shown}><summary>{head}</summary>'
        f"<div>{items}</div></details>"
    )


def _item(item: CheckItem) -> str:
    code = f' <span class="ftlab-c-code">{html.escape(item.code)}</span>'
    head = (
        f'<i class="ftlab-c-mark" title="{item.status}">{MARKS[item.status]}</i>'
        f"<b>{html.escape(item.name)}</b>{code if item.code else ''}"
    )
    if item.status == "passed":
        says = f"<span>{html.escape(item.says)}</span>"
        return f'<div class="ftlab-c-item {_kind(item.label)}">{head}{says}</div>'
    rows = "".join(
        f"<dt>{WORDS.get(word, word)}</dt>"
        f'<dd class="ftlab-c-{word}">{html.escape(text)}</dd>'
        for word, text in said(item)
    )
    return f'<div class="ftlab-c-item {_kind(item.label)}">{head}</div><dl>{rows}</dl>'


def _kind(label: str) -> str:
    return "ftlab-c-" + label.replace(" ", "-")
