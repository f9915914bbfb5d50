"""A moment of a replay as HTML, for somebody tired: all of it escaped.

First what was born, where and why; the strip and the buttons stand below it. Then the
module tree on the left, and the operation with what led to it on the right.
"""

from __future__ import annotations

import functools
import html
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ftlab.views.findings_html import style_sheet
from ftlab.views.pause_html import excerpt_html, tokens_html
from ftlab.views.range_colour import Extent, colour, range_words
from ftlab.views.replay_grades import BAD, GRADES
from ftlab.views.replay_scene import made_words

if TYPE_CHECKING:
    from ftlab.records.trace import TracedLink, TracedOp
    from ftlab.views.replay_scene import Scene
    from ftlab.views.replay_tree import Row

LINKS = 6
"""Links of the chain that are shown."""


@functools.cache
def sheets() -> str:
    """Return the style sheet of a replay."""
    own = Path(__file__).with_name("replay.css").read_text(encoding="utf-8")
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
    titles = "".join(f"<th>{html.escape(name)}</th>" for name in scene.columns)
    rows = "".join(_row(scene, row) for row in scene.rows)
    return (
        '<p><b>modules</b>, the largest value in each so far</p><div class="ftlab-r-'
        f'scroll"><table class="ftlab-r-tree"><tr><th></th>{titles}</tr>{rows}'
        "</table></div>"
    )


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
    cells = "".join(_cell(scene, index) for index in row.worst)
    kind = f" <small>{html.escape(row.kind)}</small>" if row.kind else ""
    mark = "▶" if row.here else ""
    return (
        f'<tr class="{classes}" data-at="{row.at}"><td class="ftlab-r-name" '
        f'style="padding-left:{8 + 11 * row.depth}px"><i>{mark}</i>'
        f"{html.escape(row.label)}{kind}</td>{cells}</tr>"
    )


def _cell(scene: Scene, index: int) -> str:
    if index < 0:
        return "<td></td>"
    grade = int(scene.grades.of[index])
    magnitude = float(scene.grades.magnitude[index])
    extent = Extent.up_to(magnitude, scene.trace.ops[index].dtype)
    shade = "" if math.isnan(magnitude) else colour(extent)
    words = html.escape(scene.range_of(index))
    mark = f"<small>{GRADES[grade]}</small>" if 0 < grade < BAD else ""
    tip = html.escape(f"{index} {scene.trace.ops[index].op}: {GRADES[grade]}")
    return f'<td class="ftlab-p-range" style="{shade}" title="{tip}">{words}{mark}</td>'


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
    ]
    if op.index == scene.trace.culprit:
        parts += [excerpt_html(each) for each in scene.trace.source]
    parts.append(_nearby(scene))
    if op.index == scene.trace.culprit:
        parts.append(tokens_html(scene.trace.batch_text))
    return "".join(parts)


def _chain(scene: Scene) -> str:
    links = list(scene.chain[:LINKS])
    rows = [_link(link) for link in reversed(links)]
    rows.append(_made(scene))
    return (
        "<p><b>what led here</b>, in the order in which it was made</p>"
        f'<div class="ftlab-p-wide"><table class="ftlab-p-tensors">{"".join(rows)}'
        "</table></div>"
    )


def _link(link: TracedLink) -> str:
    words = html.escape(range_words(link)) if link.dtype else "not measured"
    at = f' data-at="{link.index}"' if link.index >= 0 else ""
    return (
        f'<tr class="ftlab-p-from"{at}><th>from</th><td class="ftlab-p-range" '
        f'style="{_shade(link)}">{words}</td>{_shape(link)}'
        f'<td class="ftlab-p-by">{html.escape(link.words)}</td></tr>'
    )


def _made(scene: Scene) -> str:
    op = scene.op
    measured = op.low is not None or op.non_finite
    words = range_words(op) if measured else made_words(op)
    return (
        '<tr class="ftlab-p-output"><th>makes</th><td class="ftlab-p-range" '
        f'style="{_shade_of(scene, op)}">{html.escape(words)}</td>{_shape(op)}'
        f'<td class="ftlab-p-by">{html.escape(op.op)} {op.index}</td></tr>'
    )


def _nearby(scene: Scene) -> str:
    rows = "".join(_near(scene, op) for op in scene.nearby)
    return (
        "<p><b>operations</b> around it; a click goes there</p>"
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
    measured = op.low is not None or op.non_finite
    words = range_words(op) if measured else op.making or "-"
    return (
        f'<tr class="{classes}" data-at="{op.index}"><th><i>{mark}</i>{op.index}</th>'
        f"<td>{html.escape(op.op.removeprefix('aten.'))}</td>"
        f'<td class="ftlab-p-range" style="{_shade_of(scene, op)}">'
        f"{html.escape(words)}</td>"
        f'<td class="ftlab-p-by">{html.escape(scene.place(op))}{begins}</td></tr>'
    )


def _shape(of: TracedOp | TracedLink) -> str:
    if not of.dtype:
        return "<td></td>"
    return f"<td>{html.escape(of.dtype)}[{', '.join(map(str, of.shape))}]</td>"


def _shade(link: TracedLink) -> str:
    return colour(link) if link.dtype else ""


def _shade_of(scene: Scene, op: TracedOp) -> str:
    """Colour what counts: an infinity of a mask and constants do not."""
    harmless = op.non_finite and scene.grades.of[op.index] != BAD
    counts = op.dtype and not harmless and not op.making
    return colour(op) if counts and "int" not in op.dtype and op.dtype != "bool" else ""


def legend() -> Iterator[str]:
    """Say what the colours mean, from normal to bad."""
    for magnitude, name in ((1.0, GRADES[0]), (1e5, "large"), (4e7, "near overflow")):
        shade = colour(Extent.up_to(magnitude, "float32"))
        yield f'<span style="{shade}">{name}</span>'
    yield f'<span style="{colour(Extent.up_to(math.inf, ""))}">{GRADES[BAD]}</span>'
