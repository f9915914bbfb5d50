"""Figures as pictures in cells, without importing matplotlib or switching backends."""

import io
from typing import Any

from ftlab.records.handle import CallbackHandle, Handle

_PLACE = ("matplotlib.figure", "Figure")


def register_figures(shell: Any) -> Handle:
    """Show a bare ``matplotlib.figure.Figure`` as PNG, unless the shell does already.

    ``select_figure_formats`` would import matplotlib, which takes half a second.
    """
    formatter = shell.display_formatter.formatters["image/png"]
    name = ".".join(_PLACE)
    if name in formatter:
        return CallbackHandle(lambda: None)
    formatter.for_type_by_name(*_PLACE, figure_png)

    def undo() -> None:
        if name in formatter and formatter.lookup_by_type(name) is figure_png:
            formatter.pop(name)

    return CallbackHandle(undo)


def figure_png(figure: Any) -> bytes:
    """Draw ``figure`` as PNG with the Agg canvas, whatever backend is in use."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()
