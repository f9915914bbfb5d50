"""The flow of a gradient as HTML: from the loss down, block by block."""

import functools
import html
import math
from collections.abc import Sequence

from ftlab.records.flow import Flow, FlowBlock
from ftlab.views.front_end import front_end
from ftlab.views.layers.flow_words import WHY, folded, headline, sentences, span, state

SHOWN = 12
"""Sentences that stand above the graph; the others are folded away."""


@functools.cache
def style_sheet() -> str:
    """Return the rules for flows."""
    return front_end("layers/flow.css")


def flow_html(flow: Flow) -> str:
    """Return a flow as one HTML fragment."""
    kind = "good" if flow.ok else "bad"
    said = sentences(flow)
    lines = "".join(map(_sentence, said[:SHOWN]))
    if len(said) > SHOWN:
        rest = "".join(map(_sentence, said[SHOWN:]))
        lines += f"<details><summary><b>more</b></summary><div>{rest}</div></details>"
    return (
        f"<style>{style_sheet()}</style>"
        f'<div class="ftlab-w"><div class="ftlab-w-head ftlab-w-{kind}">'
        f"{html.escape(headline(flow))}</div>{lines}{_graph(flow)}</div>"
    )


def _sentence(text: str) -> str:
    words = html.escape(text.strip())
    if not text.startswith("  "):
        return f"<p>{words}</p>"
    kind = "more" if text.strip().startswith("behind it") else "do"
    return f'<p class="ftlab-w-{kind}">{words}</p>'


def _graph(flow: Flow) -> str:
    if not flow.blocks:
        return ""
    norms = [e.arrives for e in flow.blocks if e.arrives > 0]
    scale = _Scale(min(norms, default=1.0), max(norms, default=1.0))
    names = _cells("", "from the loss down", "", "gradient that arrives", "parameters")
    rows = [f'<div class="ftlab-w-row ftlab-w-names">{names}</div>']
    told: set[str] = set()
    cuts = {name: each for each in flow.cuts for name in each.blocks}
    for group in folded(flow):
        if len(group) == 1:
            rows.append(_row(group, scale))
        else:
            inner = "".join(_row([each], scale) for each in group)
            rows.append(
                f"<details><summary>{_row(group, scale)}</summary>"
                f"<div>{inner}</div></details>"
            )
        cut = cuts.get(group[0].name)
        if cut is not None and group[-1].name not in told:
            text = f"✕ cut here: {WHY[cut.kind]}, {cut.library_line or cut.line}"
            told.update(cut.blocks)
            rows.append(f'<div class="ftlab-w-cut">{html.escape(text)}</div>')
    return f'<div class="ftlab-w-graph">{"".join(rows)}</div>'


class _Scale:
    """Lengths of bars: the logarithm of a norm, so that a hundredth is still seen."""

    def __init__(self, low: float, high: float) -> None:
        self._low = math.log10(low) - 0.5
        self._range = math.log10(high) - self._low

    def per_cent(self, norm: float) -> float:
        """Return the length that stands for ``norm``."""
        return 100 * (math.log10(norm) - self._low) / self._range


def _row(group: Sequence[FlowBlock], scale: _Scale) -> str:
    first, last = group[0], group[-1]
    name = first.name if first is last else f"{first.name} to {last.name}"
    norms = [each.arrives for each in group if not math.isnan(each.arrives)]
    lost = sum(each.trained - each.reached for each in group)
    mark = "✕" if lost else ("✓" if first.trained else "")
    if norms and max(norms) > 0:
        width = scale.per_cent(max(norms))
        bar = f'<div class="ftlab-w-bar" style="width:{width:.0f}%"></div>'
    else:
        bar = '<div class="ftlab-w-none"></div>' if lost else ""
    many = f" in each of {len(group)}" if first is not last else ""
    cells = _cells(
        mark,
        name,
        bar,
        span(norms) if norms else "",
        "" if first.name == "loss" else state(first) + many,
    )
    return f'<div class="ftlab-w-row ftlab-w-{"bad" if lost else "good"}">{cells}</div>'


def _cells(mark: str, name: str, bar: str, norm: str, said: str) -> str:
    return (
        f"<i>{mark}</i><b>{html.escape(name)}</b>"
        f'<span class="ftlab-w-line">{bar}</span>'
        f'<span class="ftlab-w-num">{html.escape(norm)}</span>'
        f'<span class="ftlab-w-state">{html.escape(said)}</span>'
    )
