"""What the browser gets: modules and style sheets, from files beside their views."""

import functools
from pathlib import Path


def front_end(*names: str) -> str:
    """Join files into one module or style sheet, in the given order.

    Parameters
    ----------
    *names
        Paths below this folder, such as ``"charts/heat.js"``.

    Examples
    --------
    >>> from ftlab.views.front_end import front_end
    >>> "function" in front_end("charts/chart.js")
    True
    """
    folder = Path(__file__).parent
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


@functools.cache
def style_sheet() -> str:
    """Return the rules for what is shown as HTML, findings and token grids."""
    return front_end("html.css")
