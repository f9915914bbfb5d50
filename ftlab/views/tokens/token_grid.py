"""Tokens as a grid of plain HTML, for stored notebooks and pages without widgets."""

import html

from ftlab.records.token_row import IGNORED
from ftlab.views.front_end import style_sheet
from ftlab.views.style import count, number
from ftlab.views.tokens.token_figure import MEANING
from ftlab.views.tokens.token_words import describe, remark_lines, visible_name
from ftlab.views.tokens.tokens_summary import (
    KINDS,
    Sample,
    TokenSummary,
    turn_numbers,
    visible,
)

MOST_SAMPLES, MOST_TOKENS = 8, 512
"""The grid shows so much; the table has everything."""
SHIFT = (
    "Labels are shown at their own token. The model shifts them by one: each position "
    "is trained to predict the next token."
)


def tokens_html(summary: TokenSummary) -> str:
    """Return the grid as HTML; every word of the batch is escaped."""
    parts = [f"<style>{style_sheet()}</style>", '<div class="ftlab-t">', _key()]
    parts += [
        f'<p class="ftlab-fault">{html.escape(each)}</p>'
        for each in remark_lines(summary.faults)
    ]
    for sample in summary.samples[:MOST_SAMPLES]:
        words = html.escape(describe(sample))
        name = html.escape(visible_name(sample))
        cells = _cells(sample, summary)
        parts.append(f"<p><b>{name}</b> {words}</p><div>{cells}</div>")
    hidden = len(summary.samples) - MOST_SAMPLES
    if hidden > 0:
        parts.append(f"<p>and {count(hidden, 'more sample')}: .table() has them</p>")
    parts += [
        f"<p>{html.escape(each)}</p>" for each in remark_lines(summary.batch.remarks)
    ]
    return "".join([*parts, "</div>"])


def _key() -> str:
    swatches = "".join(
        f'<span class="ftlab-tok ftlab-{name}">{name}</span> '
        f"{html.escape(meaning.partition(': ')[2] or meaning)} &nbsp; "
        for name, (_, meaning) in MEANING.items()
        if name != "odd"
    )
    return f"<p>{swatches}<br>{html.escape(SHIFT)}</p>"


def _cells(sample: Sample, summary: TokenSummary) -> str:
    turns = turn_numbers(sample.row)
    texts = summary.texts_of(sample.row)
    shown = []
    last: tuple[str, int] | None = None
    for at, text in enumerate(texts[:MOST_TOKENS]):
        turn = sample.row.turns[turns[at]] if turns[at] >= 0 else None
        if turn is not None and (turn.role, turn.message) != last:
            role = visible(turn.role) or "no role"
            number_of = f" (message {turn.message})" if turn.message >= 0 else ""
            shown.append(f"<p><b>{html.escape(role)}</b>{number_of}</p>")
            last = (turn.role, turn.message)
        tip = _facts(sample, summary, at)
        if turn is not None:
            tip.append(f"{visible(turn.role)} {turn.part}".strip())
        shown.append(_cell(sample, summary, at, text, tip))
    hidden = len(texts) - MOST_TOKENS
    if hidden > 0:
        shown.append(f"<p>and {count(hidden, 'more token')}: .table() has them</p>")
    return "".join(shown)


def _facts(sample: Sample, summary: TokenSummary, at: int) -> list[str]:
    row = sample.row
    piece = summary.batch.pieces.get(int(row.ids[at]))
    spelt = "?" if piece is None else visible(piece.piece)
    tip = [f"position {at}", f"id {row.ids[at]}", f"piece {spelt}"]
    if row.attention is not None:
        tip.append(f"attention {row.attention[at]}")
    if row.labels is not None:
        tip.append(f"label {row.labels[at]}")
        if at + 1 < len(row.ids) and row.labels[at + 1] != IGNORED:
            tip.append(
                f"learns to predict next: {summary.texts[int(row.labels[at + 1])]}"
            )
    if row.weights is not None and row.trained[at]:
        tip.append(f"weight {number(float(row.weights[at]))}")
    if row.positions is not None:
        tip.append(f"position id {row.positions[at]}")
    if sample.segments > 1 and row.segments is not None:
        tip.append(f"document {row.segments[at]}")
    if row.losses is not None and row.trained[at]:
        tip.append(f"loss {number(float(row.losses[at]))}")
    return tip


def _cell(
    sample: Sample, summary: TokenSummary, at: int, text: str, tip: list[str]
) -> str:
    piece = summary.batch.pieces.get(int(sample.row.ids[at]))
    special = sorted(piece.special) if piece is not None else []
    tags = "".join(f"<sup>{html.escape(name.upper())}</sup>" for name in special)
    title = html.escape("\n".join(tip), quote=True)
    kind = KINDS[sample.kinds[at]]
    return (
        f'<span class="ftlab-tok ftlab-{kind}" title="{title}">'
        f"<bdi>{html.escape(text)}</bdi>{tags}</span>"
    )
