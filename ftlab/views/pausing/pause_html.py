"""A stop of the debugger as HTML, for somebody tired: all of it escaped.

First what, where and why, then what to do; the panel puts its buttons below. Under them
the source, the tensors with their ranges coloured, the tokens, and a histogram.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ftlab.views.charts.range_colour import colour, range_words
from ftlab.views.front_end import style_sheet
from ftlab.views.pausing.pause_report import Controller, Report, mended, said
from ftlab.views.style import SERIES, SPECIAL, number

HEAD = {
    "cause": "because",
    "trial": "tried",
    "next": "do this",
    "note": "note",
    "refused": "refused",
}
"""Rows above the buttons, and how they are called there."""
PLACE = ("op", "module", "forward", "loss", "gradients")
"""Rows below the buttons; lines, tensors and tokens are drawn."""
_JOINTS = re.compile(r"(?<=[a-z_])\.(?=\w)|(?<=\w)\.(?=[a-z_])|/(?=\w)", re.IGNORECASE)
MOVING = (
    "step and back move within this step; resume continues training, abort undoes the "
    "step and ends the run"
)


MENDING = (
    "fix the cause, go back, resume; or abort: the weights stay unchanged. Resume "
    "alone takes this step as it is"
)
TAKING = "resume as tried continues with what was tried, for this step only"
IN_UPDATE = ("optimizer", "state")
"""Kinds of a stop within an optimizer's step, where the report's words are better."""


def head_html(controller: Controller, refused: str = "") -> str:
    """Return what stands above the buttons."""
    state = controller.state
    title, rows = said(controller)
    rows = [row for row in rows if row[0] in HEAD]
    if state == "paused":
        rows = _with_advice(controller.where, rows)
    if refused:
        rows.append(("refused", refused))
    order = list(HEAD)
    rows.sort(key=lambda row: order.index(row[0]))
    shown = "".join(
        f'<dt>{HEAD[word]}</dt><dd class="ftlab-p-{word}">{_wrapping(text)}</dd>'
        for word, text in rows
    )
    kind = "error" if state == "paused" else "open"
    return (
        f'<style>{style_sheet()}</style><div class="ftlab-f ftlab-p">'
        f'<div class="ftlab-p-head ftlab-{kind}">'
        f'<div class="ftlab-what">{_wrapping(title)}</div>'
        f"<dl>{shown}</dl></div></div>"
    )


def _with_advice(report: Report, rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Say what to do in the words of the buttons."""
    told = [text for word, text in rows if word == "next"]
    rows = [row for row in rows if row[0] != "next"]
    advice = MENDING if told else MOVING
    if told and report.kind in IN_UPDATE:
        advice = told[0]
    if mended(report):
        advice = TAKING
    return [*rows, ("next", advice)]


def body_html(controller: Controller) -> str:
    """Return what stands below the buttons; nothing while training runs."""
    if controller.state != "paused":
        return ""
    report = controller.where
    _, rows = said(controller)
    parts = [
        _places(report, rows),
        "".join(map(excerpt_html, controller.source)),
        _stack(controller.stack),
        _tensors(report),
        tokens_html(controller.batch_text),
        _histogram(controller.histogram),
    ]
    return f'<div class="ftlab-f ftlab-p">{"".join(parts)}</div>'


def _wrapping(text: str) -> str:
    """Escape ``text``; long paths of modules and files break at their dots."""
    return _JOINTS.sub(r"\g<0><wbr>", html.escape(text))


def _places(report: Report, rows: Sequence[tuple[str, str]]) -> str:
    short = {"gradients": _first(report.parameters)}
    shown = "".join(
        f"<dt>{word}</dt><dd>{_wrapping(short.get(word, text))}</dd>"
        for word, text in rows
        if word in PLACE
    )
    return f"<dl>{shown}</dl>" if shown else ""


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"non-finite in {names[0]}{more}" if names else ""


def excerpt_html(excerpt: Any) -> str:
    """Return some lines of source, one of them marked."""
    lines = []
    for number_, text in enumerate(excerpt.lines, excerpt.first):
        marked = number_ == excerpt.marked
        kind, mark = (' class="ftlab-p-marked"', "▶") if marked else ("", " ")
        body = html.escape(text) or " "
        lines.append(f"<span{kind}><i>{mark}{number_:>5}</i>  {body}</span>")
    title = f"<b>{html.escape(excerpt.role)}</b> {html.escape(excerpt.place)}"
    return f'<p>{title}</p><pre class="ftlab-p-code">{"".join(lines)}</pre>'


def _stack(stack: Sequence[Any]) -> str:
    if not stack:
        return ""
    rows = "".join(
        f"<li{' class=ftlab-p-yours' if call.yours else ''}>"
        f"{html.escape(call.place)}<code>{html.escape(call.code)}</code></li>"
        for call in stack
    )
    calls = f"{len(stack)} call" + ("" if len(stack) == 1 else "s")
    return (
        f'<details data-key="stack"><summary>stack, {calls}, yours in bold, innermost '
        f'last</summary><ol class="ftlab-p-stack">{rows}</ol></details>'
    )


def _tensors(report: Report) -> str:
    rows = "".join(_tensor(*row) for row in _in_order(report))
    if not rows:
        return ""
    return (
        "<p><b>tensors</b> in order of creation</p>"
        f'<div class="ftlab-p-wide"><table class="ftlab-p-tensors">{rows}</table></div>'
    )


def tensors_html(entries: Iterable[tuple[Any, str] | str]) -> str:
    """Return one row for each tensor: its name, its facts, and words of its own."""
    rows = "".join(
        f'<tr><th colspan="4">{html.escape(each)}</th></tr>'
        if isinstance(each, str)
        else _tensor(each[0].name, *each)
        for each in entries
    )
    return (
        f'<style>{style_sheet()}</style><div class="ftlab-f ftlab-p ftlab-p-wide">'
        f'<table class="ftlab-p-tensors">{rows}</table></div>'
    )


def _in_order(report: Report) -> Iterator[tuple[str, Any, str]]:
    for link in reversed(report.chain):
        yield "from", link.facts, repr(link).removeprefix(repr(link.facts)).strip()
    for facts in report.inputs:
        yield "input", facts, facts.name
    for facts in report.outputs:
        yield "output", facts, facts.name


def _tensor(role: str, facts: Any, words: str) -> str:
    shape = ", ".join(map(str, facts.shape))
    return (
        f'<tr class="ftlab-p-{html.escape(role)}"><th>{html.escape(role)}</th>'
        f'<td class="ftlab-p-range" style="{colour(facts)}">'
        f"{html.escape(range_words(facts))}</td>"
        f"<td>{html.escape(facts.dtype)}[{shape}]</td>"
        f'<td class="ftlab-p-by">{_wrapping(words)}</td></tr>'
    )


def tokens_html(samples: Sequence[Any]) -> str:
    """Return the words of a batch, the bad ones marked."""
    if not samples:
        return ""
    any_marked = any(any(each.marked) for each in samples)
    title = ", the bad ones marked ▼" if any_marked else ""
    rows = "".join(f"<div>{_sample(each)}</div>" for each in samples)
    return f"<p><b>tokens</b> of the batch{title}</p><div class=ftlab-t>{rows}</div>"


def _sample(sample: Any) -> str:
    cells = [f"<b>sample {sample.sample}</b> ", "… " if sample.start else ""]
    pairs = zip(sample.pieces, sample.marked, strict=True)
    for at, (piece, bad) in enumerate(pairs, sample.start):
        kind, mark = ("ftlab-bad", "▼") if bad else ("ftlab-context", "")
        text = html.escape(piece.replace("\n", "↵")) or " "
        tip = f'title="position {at}"'
        cells.append(f'<span class="ftlab-tok {kind}" {tip}>{mark}{text}</span>')
    more = sample.length - sample.start - len(sample.pieces)
    return "".join(cells) + (f" and {more:,} more" if more > 0 else "")


def _histogram(histogram: Any) -> str:
    if histogram is None:
        return ""
    words = html.escape(histogram.headline())
    edges = list(zip(histogram.edges, histogram.edges[1:], strict=False))
    bars = [
        (quantity * histogram.every, f"{number(low)} to {number(high)}", SERIES[0])
        for (low, high), quantity in zip(edges, histogram.counts, strict=True)
    ]
    special = (("NaN", histogram.nans), ("Inf", histogram.infs))
    bad = [(many, name, SPECIAL["non-finite"]) for name, many in special if many]
    most = max([many for many, _, _ in bars + bad], default=1)
    ends = ""
    if edges:
        ends = f"<span>{number(edges[0][0])}</span><span>{number(edges[-1][1])}</span>"
    return (
        f"<p><b>histogram</b> of the output: {words}</p>"
        f'<div class="ftlab-p-hist" role="img" aria-label="{words}">'
        f'<div class="ftlab-p-bars">{"".join(_bar(*bar, most) for bar in bars)}</div>'
        f'<div class="ftlab-p-bars">{"".join(_bar(*bar, most) for bar in bad)}</div>'
        f'<div class="ftlab-p-ends">{ends}</div><div class="ftlab-p-ends">'
        f"{''.join(f'<span>{name} {many:,}</span>' for many, name, _ in bad)}"
        "</div></div>"
    )


def _bar(quantity: int, name: str, shade: str, most: int) -> str:
    height = 0.0 if not quantity else max(100 * quantity / most, 3.0)
    tip = html.escape(f"{name}: {quantity:,}")
    return f'<i title="{tip}" style="height:{height:.1f}%;background:{shade}"></i>'
