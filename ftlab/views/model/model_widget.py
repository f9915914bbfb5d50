"""The live tree: lines to open, names to search for, weights to look into.

Each kind of module goes out once, and the page makes lines for what is open. What is in
a module's tensors is asked for by message and comes back in the trait ``answer``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from ftlab.records.model_anatomy import ModelAnatomy, TensorValues
from ftlab.views.front_end import front_end
from ftlab.views.model.folding import Kind
from ftlab.views.model.words import MARKS, badges, details, learns, many, notes, storage
from ftlab.views.style import number

Values = Callable[[str], "tuple[TensorValues, ...]"]


class ModelWidget(anywidget.AnyWidget):
    """Shows a model."""

    _esm = front_end("model/model.js")
    _css = front_end("style.css", "model/model.css")
    spec: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)
    answer: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, spec: dict[str, Any], values: Values | None) -> None:
        self._values = values
        super().__init__(spec=spec)
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return f"ModelWidget({len(self.spec['kinds'])} kinds of modules)"

    def _hear(self, _: Any, content: Any, __: Any) -> None:
        """Answer what a page asks for; what makes no sense is left alone."""
        path = content.get("path") if isinstance(content, dict) else None
        if not isinstance(path, str) or not self._values:
            return
        tensors, said = [], ""
        try:
            tensors = [_measured(each) for each in self._values(path)]
        except Exception as error:  # noqa: BLE001  the page says what went wrong
            said = f"{type(error).__name__}: {str(error)[:200]}"
        name = str(content.get("name", ""))[:80]
        self.answer = {"name": name, "path": path, "tensors": tensors, "error": said}


def _measured(each: TensorValues) -> dict[str, Any]:
    facts = [each.dtype, each.read_as, each.missing]
    if math.isfinite(each.mean):
        facts += [f"mean {number(each.mean)}", f"std {number(each.std)}"]
        facts += [f"from {number(each.low)} to {number(each.high)}"]
        facts += [f"{100 * each.zeros:.3g}% zero"] if each.zeros else []
    shape = " \u00d7 ".join(map(str, each.shape)) or "one number"
    return {
        "name": f"{each.name} ({shape})",
        "words": ", ".join(filter(None, facts)),
        "bad": f"{each.non_finite:,} NaN or infinite" if each.non_finite else "",
        "counts": list(each.counts),
        "edges": [number(each.low), number(each.high)],
    }


def spec_of(title: str, it: ModelAnatomy, kinds: Sequence[Kind]) -> dict[str, Any]:
    """Return what a page is sent."""
    seen = [(MARKS[e.state], e.state, e.what, e.sees, e.means, e.fix) for e in it.seen]
    return {
        "title": title,
        "devices": sorted({name for e in it.modules for name in e.devices}),
        "notes": list(notes(it)),
        "seen": seen,
        "versions": it.versions,
        "kinds": [_kind(each) for each in kinds],
    }


def _kind(kind: Kind) -> dict[str, Any]:
    facts = kind.facts
    return {
        "kind": facts.kind,
        "many": many(facts.parameters),
        "own": bool(facts.own),
        "learns": learns(facts),
        "stored": storage(facts),
        "device": ", ".join(facts.devices),
        "badges": badges(facts),
        "details": list(details(facts)),
        "lines": [[line.label, line.kind, line.names, line.odd] for line in kind.lines],
    }
