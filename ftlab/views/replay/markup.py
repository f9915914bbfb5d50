"""A moment of a replay as HTML, for somebody tired: all of it escaped.

First what was born, where and why; the strip and the buttons stand below it. Then the
module tree on the left, and the operation with what led to it on the right.
"""

import functools
import html
import math

from ftlab.records.trace import TracedLink, TracedOp
from ftlab.views.charts.range_colour import colour, range_words
from ftlab.views.front_end import front_end, style_sheet
from ftlab.views.pausing.pause_html import excerpt_html, tokens_html
from ftlab.views.replay.grades import BAD, GRADES
from ftlab.views.replay.scene import Scene
from ftlab.views.replay.shade import NEAR, shade
from ftlab.views.replay.tree import Row

LINKS = 4
"""Links of the chain that are shown."""


@functools.cache
def sheets() -> str:
    """Return the style sheet of a replay."""
    own = front_end("replay/replay.css")
    return f"<style>{style_sheet()}{own}</style>"


def head_html(scene: Scene) -> str:
    """Return what stands above the strip: what, where and why."""
    rows = [("because", "cause", scene.cause)] if scene.cause else []
    if scene.trace.source:
        rows.append(("at", "at", scene.trace.source[0].place))
    shown = "".join(
        f'<dt>{word}</dt><dd class="ftlab-p-{kind}">{html.escape(text)}</dd>'
        for word, kind, text in rows
    )
    return (
        f'{sheets()}<div class="ftlab-f ftlab-p ftlab-r">'
        '<div class="ftlab-p-head ftlab-error">'
        f'<div class="ftlab-what">{html.escape(scene.trace.title)}</div>'
        f"<dl>{shown}</dl></div></div>"
    )


def body_html(scene: Scene) -> str:
    """Return what stands below the buttons: the tree, and the operation."""
    return (
        '<div class="ftlab-f ftlab-p ftlab-r"><div class="ftlab-r-two">'
        f'<div class="ftlab-r-left">{_tree(scene)}</div>'
        f'<div class="ftlab-r-right">{_operation(scene)}</div></div></div>'
    )


# -- the tree


def _tree(scene: Scene) -> str:
    names = [scene.columns[i] for i in scene.reached]
    titles = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = "".join(_row(scene, row) for row in scene.rows)
    return (
        '<p><b>modules</b>, the largest value in each so far</p><div class="ftlab-r-'
        f'scroll"><table class="ftlab-r-tree"><tr><th></th>{titles}</tr>{rows}'
        f"</table></div>{_legend()}"
    )


def _legend() -> str:
    """Say what the colours mean, from normal to bad."""
    shown = ((0, 1.0, "ok"), (1, 1e6, "large"), (NEAR, 0.0, "! near overflow"))
    parts = [*shown, (BAD, math.inf, "NaN, Inf")]
    spans = [
        f'<span style="{shade(grade, magnitude, "float32")}">{words}</span>'
        for grade, magnitude, words in parts
    ]
    return f'<div class="ftlab-r-legend">{"".join(spans)}</div>'


def _row(scene: Scene, row: Row) -> str:
    kinds = [
        name
        for name, holds in (
            ("here", row.here),
            ("culprit", row.culprit),
            ("later", row.grade < 0),
        )
        if holds
    ]
    classes = " ".join(f"ftlab-r-{name}" for name in kinds)
    cells = "".join(
        _cell(scene, index) for index in [row.worst[i] for i in scene.reached]
    )
    kind = f" <small>{html.escape(row.kind)}</small>" if row.kind else ""
    tip = html.escape(f"{row.label} {row.kind}")
    mark = "▶" if row.here else ""
    return (
        f'<tr class="{classes}" data-at="{row.at}"><td class="ftlab-r-name" '
        f'title="{tip}" style="padding-left:{15 + 11 * row.depth}px"><i>{mark}</i>'
        f"{html.escape(row.label)}{kind}</td>{cells}</tr>"
    )


def _cell(scene: Scene, index: int) -> str:
    if index < 0:
        return "<td></td>"
    op, grade = scene.trace.ops[index], int(scene.grades.of[index])
    style = shade(grade, float(scene.grades.magnitude[index]), op.dtype)
    words = html.escape(scene.range_of(index))
    mark = " !" if grade == NEAR else ""
    tip = html.escape(f"{index} {op.op}: {GRADES[grade]}")
    return f'<td class="ftlab-p-range" style="{style}" title="{tip}">{words}{mark}</td>'


# -- the operation


def _operation(scene: Scene) -> str:
    op = scene.op
    rows = [("module", scene.place(op)), ("line", scene.line or "unknown")]
    rows += [("node", op.node)] if op.node else []
    places = "".join(f"<dt>{k}</dt><dd>{html.escape(v)}</dd>" for k, v in rows)
    parts = [
        f'<p class="ftlab-r-standing">{html.escape(scene.standing())}</p>',
        f'<div class="ftlab-r-op">{html.escape(op.op)}</div><dl>{places}</dl>',
        _chain(scene),
        _nearby(scene),
    ]
    if op.index == scene.trace.culprit:
        parts += [excerpt_html(each) for each in scene.trace.source]
        parts.append(tokens_html(scene.trace.batch_text))
    return "".join(parts)


def _chain(scene: Scene) -> str:
    rows = [_link(scene, link) for link in reversed(scene.chain[:LINKS])]
    rows.append(_made(scene))
    return (
        "<p><b>what led here</b>, in order of creation</p>"
        f'<ol class="ftlab-r-chain">{"".join(rows)}</ol>'
    )


def _link(scene: Scene, link: TracedLink) -> str:
    if link.index < 0:
        words = link.words.replace(scene.prefix, "") if scene.prefix else link.words
        style = colour(link) if link.dtype else ""
        return _step_of_chain("", style, link, words)
    op = scene.trace.ops[link.index]
    line = f", {op.line}" if op.line else ""
    words = f"{op.op} {op.index} in {scene.place(op)}{line}"
    return _step_of_chain(f' data-at="{op.index}"', _style(scene, op), link, words)


def _made(scene: Scene) -> str:
    op = scene.op
    words = f"{op.op} {op.index}, this operation"
    return _step_of_chain(' class="ftlab-r-made"', _style(scene, op), op, words)


def _step_of_chain(
    attributes: str, style: str, of: TracedLink | TracedOp, words: str
) -> str:
    return (
        f'<li{attributes}><span class="ftlab-r-chip" style="{style}">'
        f"{html.escape(_range(of))}</span> {_shape(of)} "
        f"<small>{html.escape(words)}</small></li>"
    )


def _range(of: TracedLink | TracedOp) -> str:
    if of.low is not None or of.nans or of.infs:
        return range_words(of)
    return (of.making if isinstance(of, TracedOp) else "") or "no values"


def _nearby(scene: Scene) -> str:
    rows = "".join(_near(scene, op) for op in scene.nearby)
    return (
        "<p><b>operations</b> around it; click to go there</p>"
        f'<div class="ftlab-p-wide"><table class="ftlab-p-tensors ftlab-r-near">{rows}'
        "</table></div>"
    )


def _near(scene: Scene, op: TracedOp) -> str:
    kinds = ["here"] if op.index == scene.at else []
    kinds += ["later"] if op.index > scene.at else []
    kinds += ["view"] if op.making == "view" else []
    classes = " ".join(f"ftlab-r-{name}" for name in kinds)
    mark = "▶" if op.index == scene.at else ""
    begins = " ◀ it begins here" if op.index == scene.trace.culprit else ""
    place, full = scene.short_place(op), html.escape(scene.place(op))
    return (
        f'<tr class="{classes}" data-at="{op.index}"><th><i>{mark}</i>{op.index}</th>'
        f"<td>{html.escape(op.op.removeprefix('aten.'))}</td>"
        f'<td class="ftlab-p-range" style="{_style(scene, op)}">'
        f"{html.escape(_range(op))}</td>"
        f'<td class="ftlab-p-by" title="{full}">{html.escape(place)}{begins}</td></tr>'
    )


def _shape(of: TracedOp | TracedLink) -> str:
    return f"{of.dtype}[{', '.join(map(str, of.shape))}]" if of.dtype else ""


def _style(scene: Scene, op: TracedOp) -> str:
    """Colour what counts: an infinity of a mask and a constant do not."""
    if op.low == op.high == 0 and "float" in op.dtype and not op.making:
        return colour(op)
    magnitude = float(scene.grades.magnitude[op.index])
    return shade(int(scene.grades.of[op.index]), magnitude, op.dtype)
