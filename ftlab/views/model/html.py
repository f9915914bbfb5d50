"""The folded tree as HTML that needs no kernel and no script."""

from collections.abc import Sequence
from html import escape

from ftlab.views.front_end import front_end
from ftlab.views.model.folding import Kind, Line
from ftlab.views.model.words import badges, details, learns, many, storage


def page(headline: str, said: Sequence[str], kinds: Sequence[Kind]) -> str:
    """Write the tree, wrapped modules open and blocks closed."""
    style = front_end("style.css", "model/model.css")
    notes = "".join(f"<div class='ftlab-note'>{escape(each)}</div>" for each in said)
    tree = "".join(_line(each, kinds, 0) for each in kinds[-1].lines)
    head = f"<style>{style}</style><div class='ftlab-title'>{escape(headline)}</div>"
    return f"<div class='ftlab-view ftlab-model-static'>{head}{notes}{tree}</div>"


def _line(line: Line, kinds: Sequence[Kind], depth: int) -> str:
    kind, facts = kinds[line.kind], kinds[line.kind].facts
    each = "" if len(line.names) == 1 else " each"
    marks = [word for _, word in badges(facts)]
    marks += [f"differs: {line.odd}"] * bool(line.odd)
    words = filter(None, [many(facts.parameters) + each, learns(facts), storage(facts)])
    shown = escape(", ".join([*words, *marks]))
    label = f"{line.label} \u00d7 {len(line.names)}" if each else line.label
    head = f"<b>{escape(label)}</b> <i>{escape(facts.kind)}</i> {shown}"
    if not kind.lines:
        told = "; ".join(f"{term}: {text}" for term, text in details(facts))
        return f"<div title='{escape(told, quote=True)}'>{head}</div>"
    inner = "".join(_line(one, kinds, depth + 1) for one in kind.lines)
    opened = " open" if not each and depth < 4 and not line.odd else ""
    return f"<details{opened}><summary>{head}</summary>{inner}</details>"
