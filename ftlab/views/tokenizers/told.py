"""What is said in lines: a name, a mark and words each, as text, page and picture."""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ftlab.records.printable import printable
from ftlab.views.drawn import Canvas
from ftlab.views.front_end import style_sheet
from ftlab.views.style import SEVERITY
from ftlab.views.view import View, widget_mode

WIDTH, DRAWN_WIDTH = 104, 100
COLOURS = {"≠": SEVERITY["warning"], "x": SEVERITY["error"], "?": "#666666"}
FONT = "DejaVu Sans Mono"
"""Ships with matplotlib."""
KINDS = {"≠": "warning", "x": "error", "?": "open"}
"""Marks: differs, fails, not checked; ``=`` and a blank for what is well."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, and what is said below it."""

    mark: str
    name: str
    words: str
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A heading and lines."""

    head: str
    lines: tuple[Line, ...]


class ToldView(View[Told]):
    """A view that is words; those who derive from it make `Told` of what they show."""

    def _text(self, summary: Told) -> str:
        return "\n".join([printable(summary.head), *_written(summary, WIDTH)])

    def size_of(self, summary: Told) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 0.5 + 0.2 * len(_drawn(summary))

    def draw_on(self, figure: Canvas, summary: Told) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        lines = _drawn(summary)
        axes = figure.add_subplot()
        axes.set_axis_off()
        for at, (text, colour, weight) in enumerate(lines):
            height = 1 - (at + 0.8) / (len(lines) + 0.6)
            axes.text(
                0.012,
                height,
                _drawable(text),
                color=colour,
                fontweight=weight,
                fontsize=8,
                family=FONT,
            )

    def _make_widget(self) -> Any:
        import ipywidgets

        return ipywidgets.HTML(told_html(self.summary))

    def _make_picture(self) -> Any:
        return self._make_widget()

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if widget_mode() == "static":
            page = told_html(self.summary)
            return {"text/plain": repr(self), "text/html": page}, {}
        return super()._repr_mimebundle_(include, exclude)


def told_html(told: Told) -> str:
    """Return what is told as one HTML fragment, every word escaped.

    Examples
    --------
    >>> from ftlab.views.tokenizers.told import Line, Told, told_html
    >>> "&lt;/s&gt;" in told_html(Told("ends", (Line("≠", "eos", "</s>"),)))
    True
    """
    rows = "".join(map(_row, told.lines))
    return (
        f'<style>{style_sheet()}</style><div class="ftlab-f">'
        f'<div class="ftlab-what">{_escaped(told.head)}</div><dl>{rows}</dl></div>'
    )


def _row(line: Line) -> str:
    kind = KINDS.get(line.mark)
    words = "".join(f"<div>{_escaped(each)}</div>" for each in line.below)
    said = _escaped(line.words)
    if kind:
        said = f'<span class="ftlab-{kind}"><b class="ftlab-what">{said}</b></span>'
    return f"<dt>{_escaped(f'{line.mark} {line.name}')}</dt><dd>{said}{words}</dd>"


def _escaped(text: str) -> str:
    return html.escape(printable(text))


def _written(told: Told, width: int) -> list[str]:
    wide = max((len(printable(line.name)) for line in told.lines), default=0)
    return [part for line in told.lines for part in _parts(line, wide, width)]


def _parts(line: Line, wide: int, width: int) -> Sequence[str]:
    head = f"{line.mark or ' '} {printable(line.name):<{wide}}  "
    room = " " * len(head)
    parts = textwrap.wrap(
        printable(line.words), width, initial_indent=head, subsequent_indent=room
    )
    for each in line.below:
        parts += textwrap.wrap(
            printable(each),
            width,
            initial_indent=room,
            subsequent_indent=f"{room}  ",
        )
    return [each.rstrip() for each in parts or [head]]


def _drawn(told: Told) -> list[tuple[str, str, str]]:
    """Return the picture's lines as (text, colour, weight)."""
    lines = [(text, "#222222", "bold") for text in _wrapped(told.head)]
    wide = max((len(printable(line.name)) for line in told.lines), default=0)
    for line in told.lines:
        colour = COLOURS.get(line.mark, "#222222")
        parts = _parts(line, wide, DRAWN_WIDTH)
        lines += [(part, colour, "normal") for part in parts]
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(printable(text), DRAWN_WIDTH) or [""]


def _drawable(text: str) -> str:
    """Escape what the font lacks, and cut what then does not fit in the picture.

    A dollar sign would be taken for mathematics.
    """
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(FONT)).get_char_index
    drawn = "".join(one if known(ord(one)) else ascii(one)[1:-1] for one in text)
    cut = drawn if len(drawn) <= WIDTH else f"{drawn[: WIDTH - 1]}…"
    return cut.replace("$", r"\$")
