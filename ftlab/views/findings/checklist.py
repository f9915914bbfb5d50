"""The checklist's view: seven layers, each passed, failed or not checked."""

import textwrap
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, overload

from ftlab.records.checklist import LAYERS, CheckItem, Layer, Status
from ftlab.records.errors import UnknownNameError
from ftlab.records.finding import Severity
from ftlab.records.near import near
from ftlab.views.drawn import Canvas
from ftlab.views.findings.checklist_html import MARKS as SIGNS, checklist_html
from ftlab.views.findings.checklist_words import (
    ChecklistSummary,
    LayerLine,
    measured,
    said,
    to_check,
)
from ftlab.views.style import SEVERITY
from ftlab.views.view import Rows, View

WIDTH = 104
DRAWN_WIDTH = 112
MARKS: dict[Status, str] = {"failed": "x", "not checked": "?", "passed": "+"}
"""The marks of the text form; the others use those of `checklist_html`."""

COLOURS = {
    "error": SEVERITY["error"],
    "warning": SEVERITY["warning"],
    "info": SEVERITY["info"],
    "passed": "#00795a",
    "not checked": "#666666",
}


class Checklist(View[ChecklistSummary], Sequence[CheckItem]):
    """Seven layers of a fine-tune: data, model, optimizer, device, numerics, ...

    It is a sequence of `CheckItem`, sorted by layer; ``checklist["data"]`` gives one
    layer's items.

    Parameters
    ----------
    items
        What was checked, in order; see `ftlab.records.checklist.in_order`.
    title
        What was checked, in words.

    Examples
    --------
    >>> from ftlab.records.checklist import CheckItem
    >>> from ftlab.views.findings.checklist import Checklist
    >>> checklist = Checklist(
    ...     [CheckItem("data", "labels", "failed", "all 64 labels are -100")]
    ... )
    >>> checklist.ok, len(checklist.failed), checklist["data"][0].name
    (False, 1, 'labels')
    >>> checklist["labels"]
    Traceback (most recent call last):
    ...
    ftlab.records.errors.UnknownNameError: There is no layer 'labels'; there are \
'data', 'device', 'logging', 'model', 'numerics', 'optimizer', 'rollback'.
    """

    headings = (
        "layer",
        "check",
        "status",
        "severity",
        "says",
        "cause",
        "fix",
        "code",
        "place",
        "evidence",
    )

    def __init__(self, items: Sequence[CheckItem], *, title: str = "Checklist") -> None:
        super().__init__()
        self._items = tuple(items)
        self._name = title

    @property
    def ok(self) -> bool:
        """Whether nothing failed; what was not checked may still be wrong."""
        return not self.failed

    @property
    def failed(self) -> tuple[CheckItem, ...]:
        """What is wrong, worst first."""
        found = self._with("failed")
        return tuple(sorted(found, key=lambda item: -item.severity))

    @property
    def passed(self) -> tuple[CheckItem, ...]:
        """What is well."""
        return self._with("passed")

    @property
    def noted(self) -> tuple[CheckItem, ...]:
        """What passed and is worth a look: a fault only if it is not meant so."""
        return tuple(item for item in self._items if item.noted)

    @property
    def not_checked(self) -> tuple[CheckItem, ...]:
        """What could not be told, with what to hand over or record."""
        return self._with("not checked")

    def _with(self, status: Status) -> tuple[CheckItem, ...]:
        return tuple(item for item in self._items if item.status == status)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[CheckItem]:
        return iter(self._items)

    @overload
    def __getitem__(self, index: int) -> CheckItem: ...
    @overload
    def __getitem__(self, index: slice | str) -> Sequence[CheckItem]: ...
    def __getitem__(self, index: int | slice | str) -> CheckItem | Sequence[CheckItem]:
        if not isinstance(index, str):
            return self._items[index]
        if index not in LAYERS:
            msg = f"There is no layer {index!r}; {near(index, LAYERS)}."
            raise UnknownNameError(msg)
        return tuple(item for item in self._items if item.layer == index)

    def _stamp(self) -> Hashable:
        return len(self._items)  # a checklist never changes

    def _summarise(self) -> ChecklistSummary:
        lines = (_line(layer, tuple(self[layer])) for layer in LAYERS)
        return ChecklistSummary(self._name, _verdict(self), tuple(lines))

    def _make_widget(self) -> Any:
        import ipywidgets

        widget = ipywidgets.HTML(checklist_html(self.summary))
        widget.add_class("ftlab-checklist")
        return widget

    def _table(self, summary: ChecklistSummary) -> Rows:
        return [
            {
                "layer": item.layer,
                "check": item.name,
                "status": item.status,
                "severity": item.severity.label if item.status == "failed" else "",
                "says": item.says,
                "cause": item.cause,
                "fix": item.fix,
                "code": item.code,
                "place": str(item.places[0]) if item.places else "",
                "evidence": measured(item),
            }
            for item in summary.items
        ]

    def _text(self, summary: ChecklistSummary) -> str:
        lines = [f"{summary.title}: {summary.verdict}", ""]
        for line in summary.lines:
            lines += _wrapped(
                f"{MARKS[line.status]} {line.layer:<10}", line.headline, 13
            )
        for item in (each for each in summary.items if each.status == "failed"):
            lines += ["", f"{item.label.upper()} {item.layer}: {_heading(item)}"]
            for word, text in said(item):
                lines += _wrapped(f"  {word:<9}", text, 12)
        if noted := [each for each in summary.items if each.noted]:
            lines += ["", "NOTED; a fault only if unintended:"]
            for item in noted:
                lines += _wrapped("  -", f"{item.layer}: {item.says}", 4)
                lines += _wrapped("    do", item.fix, 7)
        if open_ := to_check(summary.items):
            lines += ["", "NOT CHECKED; what is needed to check it:"]
            lines += [part for text in open_ for part in _wrapped("  -", text, 4)]
        return "\n".join(lines)

    def size_of(self, summary: ChecklistSummary) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 0.35 + 0.21 * len(_drawn(summary))

    def draw_on(self, figure: Canvas, summary: ChecklistSummary) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        lines = _drawn(summary)
        axes = figure.add_subplot()
        axes.set_axis_off()
        for index, (layer, text, colour, weight) in enumerate(lines):
            height = 1 - (index + 0.8) / (len(lines) + 0.6)
            for where, words in ((0.012, layer), (0.14 if layer else 0.012, text)):
                # a dollar sign would be taken for mathematics
                shown = words.replace("$", r"\$")
                axes.text(
                    where, height, shown, color=colour, fontweight=weight, fontsize=8.5
                )


def _heading(item: CheckItem) -> str:
    return f"{item.name} ({item.code})" if item.code else item.name


def _line(layer: Layer, items: tuple[CheckItem, ...]) -> LayerLine:
    by: dict[Status, list[CheckItem]] = {"failed": [], "not checked": [], "passed": []}
    for item in items:
        by[item.status].append(item)
    bad, open_, good = by["failed"], by["not checked"], by["passed"]
    if bad:
        worst = max(bad, key=lambda item: item.severity)
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        return LayerLine(layer, "failed", worst.label, worst.says + more, items)
    if good:
        noted = sum(item.noted for item in good)
        words = f"{len(good) - noted} passed" + f", {noted} noted" * bool(noted)
        words += f", {len(open_)} not checked" * bool(open_)
        return LayerLine(layer, "passed", "passed", words, items)
    says = open_[0].says if open_ else "nothing was checked"
    return LayerLine(layer, "not checked", "not checked", says, items)


def _verdict(checklist: Checklist) -> str:
    counts = [
        (len(checklist.failed), "failed"),
        (len(checklist.noted), "noted"),
        (len(checklist.not_checked), "not checked"),
        (len(checklist.passed) - len(checklist.noted), "passed"),
    ]
    words = [f"{count} {word}" for count, word in counts if count]
    return ", ".join(words if checklist.failed else ["nothing failed", *words])


def _wrapped(head: str, text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{head} ",
        subsequent_indent=" " * indent,
    )


def _drawn(summary: ChecklistSummary) -> list[tuple[str, str, str, str]]:
    """Return the picture's lines as (layer, text, colour, weight)."""
    lines = [("", f"{summary.title}: {summary.verdict}", "#222222", "bold")]
    words = {"failed": "FAILED", "not checked": "not checked", "passed": "passed"}
    for line in summary.lines:
        colour = COLOURS[line.label]
        weight = "bold" if line.status == "failed" else "normal"
        text = line.headline
        if line.status == "not checked":
            text = f"{words[line.status]}: {text}"
        for index, part in enumerate(textwrap.wrap(text, DRAWN_WIDTH)):
            head = f"{SIGNS[line.status]} {line.layer}" if index == 0 else " "
            lines.append((head, part, colour, weight))
        for item in line.items:
            if item.status == "failed" and item.severity >= Severity.WARNING:
                do = textwrap.wrap(f"do: {item.fix}", DRAWN_WIDTH)
                lines += [(" ", part, "#333333", "normal") for part in do]
    return lines
