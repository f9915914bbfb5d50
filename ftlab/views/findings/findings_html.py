"""Findings as HTML: every word of them is escaped."""

import html

from ftlab.records.chains import chain_lines
from ftlab.records.finding import Finding, NotChecked
from ftlab.views.findings.findings_words import FindingsSummary, said, unchecked_words
from ftlab.views.front_end import style_sheet
from ftlab.views.style import count

OPEN = 1
"""The worst finding is shown unfolded, the others by their first line."""

WORDS = {
    "why": "why",
    "first": "first",
    "do": "do this",
    "where": "where",
    "seen": "measured",
    "else": "healthy run",
}


def findings_html(summary: FindingsSummary) -> str:
    """Return the findings and what was not checked as one HTML fragment."""
    parts = [f"<style>{style_sheet()}</style>", '<div class="ftlab-f">']
    if not summary.findings:
        parts.append("<div>No findings.</div>")
    for line in chain_lines(summary.findings):
        parts.append(f'<div class="ftlab-chain">{html.escape(line)}</div>')
    for index, one in enumerate(summary.findings):
        parts.append(_finding(one, index < OPEN))
    parts.append(_unchecked(summary.not_checked))
    return "".join([*parts, "</div>"])


def _finding(finding: Finding, opened: bool) -> str:
    rows = "".join(
        f'<dt>{WORDS[word]}</dt><dd class="ftlab-{word}">{html.escape(text)}</dd>'
        for word, text in said(finding)
        if word != "what"
    )
    label = finding.severity.label
    head = (
        f'<span class="ftlab-what">{html.escape(finding.message)}</span> '
        f'<span class="ftlab-code">{label} {html.escape(finding.code)}</span>'
    )
    shown = " open" if opened else ""
    return (
        f'<details class="ftlab-{label}"{shown}><summary>{head}</summary>'
        f"<dl>{rows}</dl></details>"
    )


def _unchecked(not_checked: tuple[NotChecked, ...]) -> str:
    if not not_checked:
        return ""
    rows = "".join(
        f"<dt>{html.escape(who)}</dt><dd>{html.escape(words)}</dd>"
        for who, words in unchecked_words(not_checked)
    )
    title = f"Not checked: {count(len(not_checked), 'rule')}"
    return (
        f'<details class="ftlab-open"><summary>{title}</summary>'
        f"<dl>{rows}</dl></details>"
    )
