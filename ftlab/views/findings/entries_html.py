"""A verdict with its entries as HTML, in the style of the checklist."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ftlab.views.findings.checklist_html import style_sheet

Kind = Literal["error", "warning", "info", "passed", "not-checked"]
MARKS: dict[Kind, str] = {
    "error": "✕",
    "warning": "!",
    "info": "i",
    "passed": "✓",
    "not-checked": "?",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was looked at.

    Attributes
    ----------
    kind
        How it came out.
    title, says
        What it is, and what was found.
    details
        Terms with their texts: what to do, where, the source.
    """

    kind: Kind
    title: str
    says: str
    details: tuple[tuple[str, str], ...] = ()


def entries_html(
    head: str, *, ok: bool, entries: Iterable[Entry], notes: Sequence[str] = ()
) -> str:
    """Return a verdict and its entries; those that passed are folded away."""
    given = list(entries)
    passed = [each for each in given if each.kind == "passed"]
    shown = "".join(_entry(each) for each in given if each.kind != "passed")
    said = "".join(f'<div class="ftlab-c-item">{html.escape(e)}</div>' for e in notes)
    rest = "".join(map(_entry, passed))
    if passed:
        rest = (
            f"<details><summary>{_mark('passed')}<b>passed</b>"
            f'<span class="ftlab-c-says">{len(passed)}</span></summary>'
            f"<div>{rest}</div></details>"
        )
    kind = "passed" if ok else "error"
    return (
        f"<style>{style_sheet()}</style>"
        f'<div class="ftlab-c"><div class="ftlab-c-head ftlab-c-{kind}">'
        f"<b>{html.escape(head)}</b></div>{shown}{said}{rest}</div>"
    )


def _entry(each: Entry) -> str:
    rows = "".join(
        f"<dt>{html.escape(term)}</dt>"
        f'<dd class="ftlab-c-{html.escape(term.partition(" ")[0])}">'
        f"{html.escape(text)}</dd>"
        for term, text in each.details
        if text
    )
    told = (
        f"{_mark(each.kind)}<b>{html.escape(each.title)}</b>"
        f"<span>{html.escape(each.says)}</span>"
    )
    more = f"<dl>{rows}</dl>" if rows else ""
    return f'<div class="ftlab-c-item ftlab-c-{each.kind}">{told}{more}</div>'


def _mark(kind: Kind) -> str:
    return f'<i class="ftlab-c-mark ftlab-c-{kind}">{MARKS[kind]}</i>'
